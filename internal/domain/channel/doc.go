// Package channel defines what chat platforms send and receive, and how a reply becomes messages within a
// platform's limits.
package channel
