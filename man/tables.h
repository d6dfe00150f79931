/* tables: the tables of the manual, each printed in mdoc. */
#ifndef MAN_TABLES_H
#define MAN_TABLES_H

/* Text in lines of a decent length, a sentence on a line of its own. */
void put_text(const char *text);

/* Messages by direction; the fields of each. */
void print_in(void);
void print_out(void);
void print_up(void);
void print_down(void);
void print_to_egressd(void);
void print_from_egressd(void);
/* The bytes of the first message of a client, as they are sent. */
void print_hello(void);
/* The head of a launch message, and all of their types. */
void print_launch_head(void);
void print_launch_messages(void);

#endif
