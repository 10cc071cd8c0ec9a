// Package policy learns which memory skills a span of a conversation needs.
// It is a small actor-critic over embeddings: numbers in, numbers out, nothing
// touched outside, and equal inputs give equal bits.
//
// A policy scores the skills of a bank for a state and draws an ordered few:
//
//	policy, err := controller.NewPolicy(controller.TowerShape(dim, 128), random.Key{Run: run})
//	scorer, err := policy.Scorer(candidates)
//	decision, err := scorer.Decide(controller.State(span, memories), controller.Choice{K: 3, Key: key})
//
// When the trace has been asked about, its scores become rewards of the
// decisions, by default of those behind the memories that each query met:
//
//	steps, err := controller.DefaultCredit().Steps(episodes)
//
// A batch of steps makes the next policy, by proximal policy optimisation:
//
//	next, optimiser, report, err := policy.Update(current, optimiser, steps, vectors, policy.DefaultPPO(), key)
//
// Policies and optimisers are values with a Blob to keep and a Hash to name them.
// Backward passes are written by hand, for the two heads are eight layers in all;
// tests hold them against finite differences and published numbers.
package policy
