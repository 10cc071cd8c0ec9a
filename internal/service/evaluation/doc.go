// Package evaluation measures whether memory skills that learn and evolve are worth
// more than a fixed set: leave-one-conversation-out over LoCoMo, with the offline
// rules as the model that keeps memories, proposes edits and answers. What is
// under test is the learning, so there is no database and no workflow: banks,
// policies, executor and designer are the program's own, the store is a list.
//
// The store may hold a share of the transcript's tokens, and a question is
// answered from few: without both, keeping everything is best. When the store is
// too full the least telling item goes, by the same plain rule in every row of the
// table; a skill decides what is offered to the store, and in which form.
package evaluation
