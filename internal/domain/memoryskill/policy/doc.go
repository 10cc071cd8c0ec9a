// Package policy learns which memory skills a span of a conversation needs. It is a small
// actor-critic model over embeddings. It is pure: equal inputs give equal bits.
//
// A policy scores the skills of a bank for a state and draws an ordered selection:
//
//	p, err := policy.NewPolicy(policy.TowerShape(dim, 128), keyedrand.Key{Run: run})
//	scorer, err := p.Scorer(candidates)
//	decision, err := scorer.Decide(policy.State(span, memories), policy.Choice{K: 3, Key: key})
//
// After the trace was queried, a Credit converts the scores to rewards of the decisions. The
// default rewards the decisions behind the memories that each query used:
//
//	steps, err := policy.DefaultCredit().Steps(episodes)
//
// Update trains the next policy on a batch of steps, by proximal policy optimization:
//
//	next, optimizer, report, err := policy.Update(p, optimizer, steps, vectors, policy.DefaultPPO(), key)
//
// Policies and optimizer states are values with a Blob for storage and a Hash as name. The backward
// passes are written by hand, because a policy has only six layers. Tests compare them with finite
// differences.
package policy
