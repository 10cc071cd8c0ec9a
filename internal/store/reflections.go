package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"cairn/internal/domain/memory"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// LockReflections serializes the opening and closing of reflections in the workspace.
func (q ReflectionRepository) LockReflections(ctx context.Context) error {
	return classify("lock the reflections", q.q.ReflectionLock(ctx, q.ws))
}

// Unread lists messages that a reflection may read, grouped by conversation.
func (q ReflectionRepository) Unread(ctx context.Context, w domainreflection.Window) ([]domainreflection.Message,
	error) {
	rows, err := q.q.ReflectionUnread(ctx,
		dbsqlc.ReflectionUnreadParams{WorkspaceID: q.ws, PastMark: w.PastMark, Since: w.Since, Until: w.Until,
			Again: w.Again, MaxRows: int32(w.Max)})
	if err != nil {
		return nil, classify("read the messages", err)
	}
	out := make([]domainreflection.Message, len(rows))
	for i, r := range rows {
		if out[i], err = saidOf(dbsqlc.ReflectionRangeRow(r)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Range reads the messages of a range.
func (q ReflectionRepository) Range(ctx context.Context, r domainreflection.Read) ([]domainreflection.Message, error) {
	rows, err := q.q.ReflectionRange(ctx, dbsqlc.ReflectionRangeParams{WorkspaceID: q.ws,
		ConversationID: r.Conversation, FromSeq: int32(r.FromSeq), ToSeq: int32(r.ToSeq)})
	if err != nil {
		return nil, classify("read the messages", err)
	}
	out := make([]domainreflection.Message, len(rows))
	for i, r := range rows {
		if out[i], err = saidOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func saidOf(r dbsqlc.ReflectionRangeRow) (domainreflection.Message, error) {
	m := domainreflection.Message{Conversation: r.ConversationID, Turn: int(r.Turn), Said: r.Said, Human: r.Human,
		Reviewed: r.Reviewed,
		Message: transcript.Message{Seq: int(r.Seq), Role: transcript.Role(r.Role), Content: r.Content, Name: r.Name,
			ToolCallID: r.ToolCallID, Time: r.Said.In(time.UTC)}}
	if err := json.Unmarshal(r.ToolCalls, &m.ToolCalls); err != nil {
		return m, fmt.Errorf("decode the tool calls of message %d: %w", r.Seq, err)
	}
	var err error
	m.Details, err = readDetails(r.Details)
	return m, err
}

// Stale lists unread ranges before a window.
func (q ReflectionRepository) Stale(ctx context.Context, before time.Time) ([]domainreflection.Read, error) {
	rows, err := q.q.ReflectionStale(ctx, dbsqlc.ReflectionStaleParams{WorkspaceID: q.ws, Before: before})
	if err != nil {
		return nil, classify("list the stale messages", err)
	}
	out := make([]domainreflection.Read, len(rows))
	for i, r := range rows {
		out[i] = domainreflection.Read{Conversation: r.ConversationID, FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq),
			State: "skipped", Messages: int(r.Messages)}
	}
	return out, nil
}

// PutReads records the ranges that a run will read.
func (q ReflectionRepository) PutReads(ctx context.Context, id string, reads []domainreflection.Read) error {
	for _, r := range reads {
		err := q.q.ReflectionReadPut(ctx, dbsqlc.ReflectionReadPutParams{WorkspaceID: q.ws, RunID: id,
			ConversationID: r.Conversation, FromSeq: int32(r.FromSeq), ToSeq: int32(r.ToSeq),
			Part: int32(r.Part), State: r.State})
		if err != nil {
			return classify("record the ranges", err)
		}
	}
	return nil
}

// Reads lists the ranges of a run.
func (q ReflectionRepository) Reads(ctx context.Context, id string) ([]domainreflection.Read, error) {
	rows, err := q.q.ReflectionReads(ctx, dbsqlc.ReflectionReadsParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return nil, classify("list the ranges", err)
	}
	out := make([]domainreflection.Read, len(rows))
	for i, r := range rows {
		out[i] = domainreflection.Read{Conversation: r.ConversationID, FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq),
			Part: int(r.Part), State: r.State}
	}
	return out, nil
}

// EndReads closes the ranges of the first parts of a run.
func (q ReflectionRepository) EndReads(ctx context.Context, id string, parts int, state string) error {
	_, err := q.q.ReflectionReadsEnd(ctx, dbsqlc.ReflectionReadsEndParams{State: state, WorkspaceID: q.ws, RunID: id,
		Parts: int32(parts)})
	return classify("close the ranges", err)
}

// SkipRead skips the part of a range up to the end of r.
func (q ReflectionRepository) SkipRead(ctx context.Context, id string, r domainreflection.Read) error {
	n, err := q.q.ReflectionReadsSkip(ctx,
		dbsqlc.ReflectionReadsSkipParams{ToSeq: int32(r.ToSeq), WorkspaceID: q.ws, RunID: id,
			ConversationID: r.Conversation, FromSeq: int32(r.FromSeq)})
	return oneRow("skip an unreadable range", n, classify("skip an unreadable range", err))
}

// FreeReads releases the ranges that a run has not read.
func (q ReflectionRepository) FreeReads(ctx context.Context, id string) error {
	_, err := q.q.ReflectionReadsFree(ctx, dbsqlc.ReflectionReadsFreeParams{WorkspaceID: q.ws, RunID: id})
	return classify("release the unread ranges", err)
}

// ContiguousMark returns the last message of a conversation before the first unread one.
func (q ReflectionRepository) ContiguousMark(ctx context.Context, conversation int64) (int, error) {
	seq, err := q.q.ReflectionMark(ctx, dbsqlc.ReflectionMarkParams{WorkspaceID: q.ws, ConversationID: conversation})
	return int(seq), classify("find the last read message", err)
}

// LastTurn returns the last turn of a conversation up to a message.
func (q ReflectionRepository) LastTurn(ctx context.Context, conversation int64, seq int) (int, error) {
	turn, err := q.q.ReflectionTurns(ctx, dbsqlc.ReflectionTurnsParams{WorkspaceID: q.ws, ConversationID: conversation,
		Seq: int32(seq)})
	return int(turn), classify("find the last turn", err)
}

// ReflectionOf finds the reflection of a date and generation.
func (q ReflectionRepository) ReflectionOf(ctx context.Context, date string, generation int) (run.Run, bool, error) {
	r, err := q.q.ReflectionOf(ctx, dbsqlc.ReflectionOfParams{WorkspaceID: q.ws, Date: date,
		Generation: int32(generation)})
	if isNoRows(err) {
		return run.Run{}, false, nil
	}
	if err != nil {
		return run.Run{}, false, classify("find the reflection", err)
	}
	return runOf(r), true, nil
}

// Reflections lists the runs of a date, or of all dates if it is empty, the latest first.
func (q ReflectionRepository) Reflections(ctx context.Context, date string, max int) ([]run.Run, error) {
	rows, err := q.q.ReflectionsRecent(ctx,
		dbsqlc.ReflectionsRecentParams{WorkspaceID: q.ws, Date: date, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the reflections", err)
	}
	out := make([]run.Run, len(rows))
	for i, r := range rows {
		out[i] = runOf(r)
	}
	return out, nil
}

// PutDay stores the result of a local date.
func (q ReflectionRepository) PutDay(ctx context.Context, id string, status string, r domainreflection.Report) error {
	date, err := dayOf(r.Date)
	if err != nil {
		return err
	}
	p := dbsqlc.ReflectionDayPutParams{WorkspaceID: q.ws, LocalDate: date, Zone: r.Zone, Status: status, ToAt: r.To,
		RunID: keyOrNull(id), Conversations: int32(r.Conversations),
		Messages: int32(r.Messages), Notes: int32(r.Notes), Memories: int32(r.Memories), Skills: int32(r.Skills),
		Failures: int32(r.Failures), EmptyWeek: r.EmptyWeek}
	if !r.From.IsZero() {
		p.FromAt = &r.From
	}
	if r.Alert {
		reason := fmt.Sprintf("%d failures in a row; %d messages were skipped", r.Failures, r.Skipped)
		p.Reason = &reason
	}
	return classify("store the result of the date", q.q.ReflectionDayPut(ctx, p))
}

// EmptyWeek reports whether the day at an instant is the seventh in a row with an empty reflection
// although conversations took place.
func (q ReflectionRepository) EmptyWeek(ctx context.Context, at time.Time) (bool, error) {
	emptyWeek, err := q.q.ReflectionEmptyWeek(ctx, dbsqlc.ReflectionEmptyWeekParams{WorkspaceID: q.ws, At: at})
	return emptyWeek, classify("read the previous days", err)
}

// Days lists dates, the latest first.
func (q ReflectionRepository) Days(ctx context.Context, from, to string, max int) ([]domainreflection.Day, error) {
	first, err := dayOf(from)
	if err != nil {
		return nil, err
	}
	last, err := dayOf(to)
	if err != nil {
		return nil, err
	}
	rows, err := q.q.ReflectionDays(ctx, dbsqlc.ReflectionDaysParams{WorkspaceID: q.ws, FromDate: first, ToDate: last,
		MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the dates", err)
	}
	out := make([]domainreflection.Day, len(rows))
	for i, r := range rows {
		out[i] = domainreflection.Day{Date: r.LocalDate.Time.Format(time.DateOnly), Zone: r.Zone, Status: r.Status,
			To: r.ToAt, Run: text(r.RunID), Conversations: int(r.Conversations),
			Messages: int(r.Messages), Notes: int(r.Notes), Memories: int(r.Memories), Skills: int(r.Skills),
			Failures: int(r.Failures), Reason: text(r.Reason), UpdatedAt: r.UpdatedAt}
		if r.EmptyWeek {
			out[i].Reason = domainreflection.EmptyWeekReason
		}
	}
	return out, nil
}

func dayOf(date string) (pgtype.Date, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return pgtype.Date{}, fmt.Errorf("read the date %q: %w", date, err)
	}
	return pgtype.Date{Time: day, Valid: true}, nil
}

// Recalled counts notes that a search has returned.
func (q ReflectionRepository) Recalled(ctx context.Context, query [32]byte, keys []int64, relevances []float32) error {
	return classify("count the recalled notes",
		q.q.NoteRecalled(ctx, dbsqlc.NoteRecalledParams{WorkspaceID: q.ws, Keys: keys, QuerySha: query[:],
			Relevances: relevances}))
}

// RecalledNotes lists notes that searches have returned at least a number of times.
func (q ReflectionRepository) RecalledNotes(ctx context.Context, recalls, queries, days,
	max int) ([]domainreflection.Recall,
	error) {
	rows, err := q.q.NotesRecalled(ctx, dbsqlc.NotesRecalledParams{WorkspaceID: q.ws, Recalls: int32(recalls),
		Queries: int32(queries), Days: int32(days), MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the recalled notes", err)
	}
	out := make([]domainreflection.Recall, len(rows))
	for i, r := range rows {
		out[i] = domainreflection.Recall{Note: entryOf(r.Memory), Relevance: r.Relevance, Recalls: int(r.Recalls),
			Queries: int(r.Queries), Days: int(r.Days),
			Age: time.Duration(r.Seconds * float64(time.Second))}
	}
	return out, nil
}

// NotesOf lists the notes of a local date, in order of creation.
func (q ReflectionRepository) NotesOf(ctx context.Context, date string, max int) ([]memory.Entry, error) {
	rows, err := q.q.ReflectionNotes(ctx, dbsqlc.ReflectionNotesParams{WorkspaceID: q.ws, Date: date,
		MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the notes", err)
	}
	out := make([]memory.Entry, len(rows))
	for i, r := range rows {
		out[i] = entryOf(r)
	}
	return out, nil
}
