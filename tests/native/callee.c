/* A library that calls back. ROOM makes its frame larger and does not move its code. */
void native_callee(void (*leaf)(void *), void *context);

void native_callee(void (*leaf)(void *), void *context)
{
	volatile char room[ROOM];
	room[0] = 1;
	leaf(context);
	room[ROOM - 1] = room[0];
}
