package memoryagent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// maxJoined is the number of adds in one call.
const maxJoined = 32

// step is the key of the call of a single add in the ledger.
const step = "facts"

// session is an add of a call.
type session struct {
	OneCall
	messages []transcript.Message // without system messages
	first    int                  // index of its first message in the prompt
	alike    []string             // IDs of other subjects, which are no spellings of this one
}

// batch is what one model call adds.
type batch struct {
	sessions []session
	step     string // key of the call in the ledger of the first run
	subject  memories.Subject
	more     bool // other adds of the subject wait
}

// claim returns the open adds of a subject that one call does. A call that was made is repeated with
// the same adds, because its reply is about them. ok is false if no add is open.
func (s *Adder) claim(ctx context.Context, ws int64, subject string) (out batch, ok bool, err error) {
	err = s.Store.InWorkspaceByKeys(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out = batch{}
		open, err := tx.Adds().Waiting(ctx, subject, maxJoined+1)
		if err != nil || len(open) == 0 {
			return err
		}
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		taken := members(open, chosen.Memory.AddTokens)
		out.step, out.more = stepOf(taken), len(open) > len(taken)
		if err := join(ctx, tx, taken); err != nil {
			return err
		}
		for _, one := range taken {
			c, err := OneCallOf(one.Run)
			if err != nil {
				return err
			}
			said, err := tx.Transcripts().Conversation(ctx, one.Run.Conversation, c.Spec.FromSeq, c.Spec.ToSeq)
			if err != nil {
				return err
			}
			out.sessions = append(out.sessions, session{OneCall: c, messages: memory.Dialogue(said.Messages)})
		}
		out.subject, err = s.LongTerm.SubjectMemories(ctx, tx, out.sessions[0].Actor(step, 0), allShown)
		for i := range out.sessions {
			out.sessions[i].alike = out.subject.Alike
		}
		return err
	})
	return out, len(out.sessions) > 0, err
}

// members returns the adds of the next call: those of a call that was made, or else the first one and
// those after it that fit.
func members(open []run.OpenAdd, most int) (out []run.OpenAdd) {
	first := open[0]
	out = open[:1:1]
	if first.Step != "" {
		for _, one := range open[1:] {
			if one.Batch == first.Run.Ref.Run {
				out = append(out, one)
			}
		}
		return out
	}
	used := first.Tokens
	for _, one := range open[1:] {
		used += one.Tokens
		if one.Joins != first.Joins || used > most || len(out) == maxJoined {
			break
		}
		out = append(out, one)
	}
	return out
}

// stepOf returns the key of the call of adds. Calls with other adds have other keys, so that no reply
// is taken for one about other messages.
func stepOf(all []run.OpenAdd) string {
	if len(all) == 1 {
		return step
	}
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = one.Run.Ref.Run
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return fmt.Sprintf("%s/%d-%x", step, len(all), sum[:6])
}

// join stores which adds the call has.
func join(ctx context.Context, tx store.Tx, all []run.OpenAdd) error {
	var ids []string
	for _, one := range all[1:] {
		if one.Batch != all[0].Run.Ref.Run {
			ids = append(ids, one.Run.Ref.Run)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Adds().Join(ctx, all[0].Run.Ref.Run, ids)
}
