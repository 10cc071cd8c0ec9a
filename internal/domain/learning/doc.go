// Package learning has the rows of the learning loop: banks, decisions, outcomes, cases, trainings, rounds, updates,
// probes and evaluations.
package learning
