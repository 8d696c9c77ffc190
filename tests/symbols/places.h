/* Shared by a library of places and its test. */
#ifndef PLACES_H
#define PLACES_H

/* Called from `line` in `functions`, innermost first, separated by spaces. */
typedef void place_function(int line, const char *functions);

void places_run(place_function *tell);
void places_never_returns(place_function *tell);
void places_next(place_function *tell);

#endif
