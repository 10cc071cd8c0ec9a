// Package world measures whether memory skills that learn and evolve are better than a fixed
// set. It runs leave-one-conversation-out on LoCoMo, with the offline rules as the model that
// extracts memories, proposes edits and answers. Only the learning is tested, so there is no
// database and no workflow: banks, policies, executor and designer are the production code, and the
// store is a list.
//
// The store may hold a share of the transcript's tokens, and a question is answered from a limited
// number of tokens. Without these limits, keeping everything would be best. If the store is full,
// the least informative item is removed, by the same rule in every row of the table. A skill
// decides what is offered to the store, and in which form.
package world
