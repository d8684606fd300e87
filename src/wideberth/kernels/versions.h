/* VERSIONS before a function: where GCC compiles for glibc there are several versions
   of it, by the vector instructions of processors, and the loader chooses the best one;
   elsewhere there is a plain one. */

#ifndef WIDEBERTH_VERSIONS_H
#define WIDEBERTH_VERSIONS_H

#include <stdlib.h> /* says __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define VERSIONS \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VERSIONS
#endif

#endif
