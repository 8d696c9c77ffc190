/* What a library of places and its test agree on. */
#ifndef PLACES_H
#define PLACES_H

/* Called from `line` in `functions`, innermost first, parted by spaces. */
typedef void place_function(int line, const char *functions);

void places_run(place_function *tell);
void places_never_returns(place_function *tell);
void places_next(place_function *tell);

#endif
