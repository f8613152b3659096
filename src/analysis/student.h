/*
 * Student's t distribution: how far an estimate strays from what it estimates when its variance was
 * estimated, too, from few observations. Pure: no I/O.
 *
 * deviations  standard deviations, as estimated
 * degrees     degrees of freedom of that estimate, above 0, not always whole; INFINITY: it is known
 *
 * Source: "Student", The probable error of a mean, Biometrika 6 (1908); NIST Digital Library of
 * Mathematical Functions, section 8.17 (incomplete beta function).
 */
#ifndef ANALYSIS_STUDENT_H
#define ANALYSIS_STUDENT_H

/* Of so many deviations or more, in either direction: from 0 to 1. */
double student_get_chance(double deviations, double degrees);

/*
 * The other way round: which deviations have this chance. Of a known variance 38.5 at most: what is
 * rarer is no double.
 */
double student_get_deviations(double chance, double degrees);

/* What a chance that was computed for a known variance becomes for one that is estimated. */
double student_widen_chance(double chance, double degrees);

#endif
