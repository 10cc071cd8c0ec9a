// Package agent implements the agent loop as a pure state machine. It does not depend on Temporal,
// Postgres or a model. A run is a sequence of steps, and a step is one model response. Next decides
// what follows from each event.
package agent
