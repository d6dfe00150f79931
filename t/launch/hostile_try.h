/* hostile_try: one attempt at something that a browser must not be able to. */
#ifndef T_LAUNCH_HOSTILE_TRY_H
#define T_LAUNCH_HOSTILE_TRY_H

/* No errno value is as high. */
#define HOSTILE_UNKNOWN      255
#define HOSTILE_NO_NAMESPACE 254

/* 0 if it worked, else an errno value, or that there is no such attempt. */
int hostile_try(const char *what, const char *a, const char *b);

#endif
