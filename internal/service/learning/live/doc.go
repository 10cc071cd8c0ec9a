// Package live learns from what happens after a bank is active: Probes asks questions about new memories, and
// Adaptation updates the policy from the outcomes of decisions.
package live
