// Package executor processes one span of a conversation. It divides sessions into spans, decodes a
// model's reply, and decides which actions are executed. It calls no model and accesses no store.
//
//	spans := executor.Spans(messages, executor.DefaultSpans())
//	actions, outcome := executor.Decode(reply)
//	plan := executor.Resolve(actions, skills, handles)
//
// One model call processes a span with all skills that were chosen for it. Every action has an
// outcome. An action that no chosen skill allows is never executed.
package executor
