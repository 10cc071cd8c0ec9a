package memoryagent

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"cairn/internal/domain/index"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Limits of the memories in a prompt.
const (
	allShown        = 10 // a subject with at most so many memories shows all of them
	perStatement    = 10 // found for each statement of the user
	maxShown        = 30
	maxStatements   = 16 // that are searched, the latest of a long session
	parallelQueries = 4
	// replyTokens is the first limit of the reply.
	replyTokens = 4000
)

// shown returns the memories that the sessions may affect, in the order of their creation, so that
// the prompts of a subject begin alike. A subject with few memories shows all of them; of others, the
// production search selects those that each statement of the user finds.
func (s *Adder) shown(ctx context.Context, ws int64, b batch) ([]memory.Entry, error) {
	if !b.subject.More {
		return b.subject.Memories, nil
	}
	queries := statements(b.sessions)
	found := make([][]index.Result, len(queries))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(parallelQueries)
	for i, query := range queries {
		group.Go(func() (err error) {
			found[i], err = s.Finder.Find(within, ws, search.Request{Query: query, Kinds: []string{index.KindMemory},
				Types: []memory.Type{b.subject.Scope.Type}, Targets: []string{b.subject.Scope.Target},
				Limit: perStatement})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	ids := bestOf(found)
	var entries []memory.Entry
	err := s.LongTerm.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		entries, err = tx.LongTerm().LongTerm(ctx, ids)
		return err
	})
	entries = slices.DeleteFunc(entries, func(e memory.Entry) bool {
		return e.Status != memory.Active || !b.subject.Scope.Holds(e)
	})
	slices.SortFunc(entries, func(a, b memory.Entry) int { return int(a.Key - b.Key) })
	return entries, err
}

// statements returns the messages of users as queries.
func statements(all []session) (out []string) {
	for _, one := range all {
		for _, m := range one.messages {
			text := strings.TrimSpace(m.Content)
			if m.FromHuman() && text != "" && !slices.Contains(out, text) {
				runes := []rune(text)
				out = append(out, string(runes[:min(len(runes), memories.QueryRunes)]))
			}
		}
	}
	return out[max(0, len(out)-maxStatements):]
}

// bestOf returns the IDs of results, those with the best places first.
func bestOf(found [][]index.Result) (ids []string) {
	for place := range perStatement {
		for _, results := range found {
			if place < len(results) && !slices.Contains(ids, results[place].ID) && len(ids) < maxShown {
				ids = append(ids, results[place].ID)
			}
		}
	}
	return ids
}

// request returns the request of a call: constant instructions and schema, then the memories, then
// the sessions. It numbers the messages of all sessions.
func request(b *batch, known []memory.Entry) (llm.Request, error) {
	first := b.sessions[0]
	system, err := prompt.Instructions(prompt.Facts, first.Spec.Lang)
	if err != nil {
		return llm.Request{}, err
	}
	if g := first.Guidance(); g != "" {
		system += "\n\n" + prompt.CallerGuidance(first.Spec.Lang, g)
	}
	m := prompt.Material{Language: first.Spec.Lang, Subject: first.Subject.Target}
	for i, e := range known {
		m.Stored = append(m.Stored, prompt.StoredMemory{Handle: addHandle(i),
			Content: memory.WithoutData(memories.Sanitized(e).Content)})
	}
	for i := range b.sessions {
		one := &b.sessions[i]
		one.first = len(m.Messages)
		for _, said := range addRendered(*one) {
			said.Index += one.first
			if len(b.sessions) > 1 {
				said.Conversation = i + 1
			}
			m.Messages = append(m.Messages, said)
		}
	}
	user, err := prompt.SessionMaterial(m)
	return llm.Request{Model: first.Spec.Model, System: system, Messages: llm.User(user), MaxTokens: replyTokens,
		Constant: first.Guidance() == "",
		Schema:   &llm.Schema{Name: prompt.Facts.Schema(), JSON: prompt.Schema(prompt.Facts)},
		Label:    llm.Label{Stage: string(prompt.Facts), Run: first.Run.Ref.Run, Task: b.step}}, err
}

// addRendered returns the messages of a session as the model sees them, numbered from 0.
func addRendered(one session) []prompt.Message {
	numbered := slices.Clone(one.messages)
	for i := range numbered {
		numbered[i].Seq = i
	}
	return Rendered(numbered, one.Spec.Limits.ResultChars, DayLayout)
}

// said returns the message of the session with an index of the prompt.
func (s session) said(index int) (m transcript.Message, ok bool) {
	if index -= s.first; index < 0 || index >= len(s.messages) {
		return m, false
	}
	return s.messages[index], true
}
