/* faults: what can be wrong with stored data, faults.def. */
#ifndef MODEL_FAULTS_H
#define MODEL_FAULTS_H

enum fault_harm {
	FAULT_LOST,  /* something cannot be had any more */
	FAULT_WRONG, /* something is answered wrongly */
	FAULT_LEFT,  /* nothing but space is lost */
	FAULT_HARM__MAX
};

enum fault {
#define FAULT(name, harm, what, advice) FAULT_##name,
#include "model/faults.def"
#undef FAULT
	FAULT__MAX
};

const char *fault_name(enum fault);
enum fault_harm fault_harm(enum fault);
/* "lost", "wrong", "left" */
const char *fault_harm_name(enum fault_harm);
/* Sentences for people, without a full stop: what is wrong, what to do. */
const char *fault_what(enum fault);
const char *fault_advice(enum fault);

#endif
