package build

import (
	"context"
	"slices"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/service/learning/bank"
	memories "cairn/internal/service/memory"
)

// apply applies the resolved actions once, and records the outcome of each.
func (s *Service) apply(ctx context.Context, session bank.Session, span executor.Span, decisionID string,
	actions []executor.ResolvedAction) error {
	changes := changesOf(span, actions)
	if len(changes.Deletes)+len(changes.Updates)+len(changes.Inserts) == 0 {
		return nil
	}
	a := session.Actor("span", span.Number)
	a.FromSeq, a.ToSeq, a.Subject.Decision = span.FromSeq(), span.ToSeq(), decisionID
	items, err := s.ports.Memories.ApplySpan(ctx, a, changes)
	if err != nil {
		return err
	}
	for _, item := range items {
		r := &actions[item.Index]
		r.Memory = item.ID
		switch item.Status {
		case memories.Failed:
			r.Outcome, r.Note = executor.Refused, string(item.Code)+": "+item.Message
		case memories.AlreadyExists, memories.Unchanged, memories.Merged:
			r.Outcome = executor.Duplicate
		}
	}
	return nil
}

// changesOf returns the memory changes of actions.
func changesOf(span executor.Span, actions []executor.ResolvedAction) (out memories.SpanChanges) {
	for i, a := range actions {
		if a.Outcome != executor.OK {
			continue
		}
		switch a.Type {
		case memoryskill.Delete:
			out.Deletes = append(out.Deletes, memories.DeleteRequest{Index: i, ID: a.Memory})
		case memoryskill.Update:
			out.Updates = append(out.Updates, memories.ChangedMemory{Index: i, ID: a.Memory, Content: a.Content})
		case memoryskill.Insert:
			added := memories.NewMemory{Index: i, Content: a.Content, EventTime: eventTime(span, a.Evidence)}
			out.Inserts = append(out.Inserts,
				memories.SpanMemory{NewMemory: added, Type: typeOf(a), About: subject(span, a)})
		}
	}
	return out
}

func typeOf(a executor.ResolvedAction) memory.Type {
	if a.Kind == string(memory.Procedural) {
		return memory.Procedural
	}
	return memory.Personal
}

// subject returns the subject of an insert: the one that the model names, or else the speaker.
func subject(span executor.Span, a executor.ResolvedAction) string {
	if a.About != "" {
		return a.About
	}
	speaker := ""
	for _, p := range span.Parts {
		name := p.Speaker
		if name == "" {
			name = p.Role
		}
		for _, seq := range a.Evidence {
			if p.Seq == seq {
				return name
			}
		}
		if speaker == "" || p.Role == "user" {
			speaker = name
		}
	}
	return speaker
}

// eventTime returns the time of the latest evidence message of an action.
func eventTime(span executor.Span, evidence []int) (latest *time.Time) {
	for _, p := range span.Parts {
		if slices.Contains(evidence, p.Seq) && !p.Time.IsZero() && (latest == nil || p.Time.After(*latest)) {
			latest = &p.Time
		}
	}
	return latest
}
