// Package executor is what happens to one span of a conversation: how it is cut,
// what a model may answer, and what of the answer is carried out. It calls no
// model and touches no store.
//
//	spans := executor.Spans(messages, executor.DefaultSpans())
//	actions, outcome := executor.Decode(reply)
//	plan := executor.Resolve(actions, skills, handles)
//
// One call serves a span, with all skills that were chosen for it. Every action
// has an outcome; what a skill does not allow is never carried out, whatever the
// model says.
package executor
