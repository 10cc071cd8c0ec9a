// Package agent is the loop of an agent as a pure step machine: it knows neither
// Temporal nor Postgres nor any model. A run is a sequence of steps; a step is
// one model response, and what follows from it is decided here.
package agent
