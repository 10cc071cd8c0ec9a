package memoryagent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
)

// BatchItem is a statement of a batch from which memories of one target are inferred.
type BatchItem struct {
	Index    int
	Type     memory.Type // personal or procedural; empty means personal
	Target   string
	Content  string
	Time     *time.Time
	Metadata memory.Metadata // added to each memory
}

// BatchResult is the result of one item: the request that infers from it, or why there is none.
type BatchResult struct {
	Index   int
	Request run.Run
	Err     error
}

// BatchRequest is a batch of statements.
type BatchRequest struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // idempotency key of the caller; empty derives requests from their content
	Items        []BatchItem
	Spec         agentrun.Spec
}

// groupRunes is the size of the sessions into which a batch is divided, in characters: small enough for one model
// call.
const groupRunes = 20_000

// SummarizeBatch accepts statements of many targets: those of one target, with the same metadata, become sessions in
// their order. It returns the result of each item. A repeated batch with the same ID returns the same requests.
func (s *Service) SummarizeBatch(ctx context.Context, in BatchRequest) ([]BatchResult, error) {
	if len(in.Items) == 0 || len(in.Items) > memories.MaxBatched {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("batch has %d memories, want 1 to %d", len(in.Items), memories.MaxBatched),
			fmt.Sprintf("send at most %d memories in one batch", memories.MaxBatched))
	}
	out := make([]BatchResult, len(in.Items))
	for i, item := range in.Items {
		out[i].Index, out[i].Err = item.Index, item.check()
	}
	for n, group := range in.groups(out) {
		made, err := s.Summarize(ctx, in.request(n, group))
		if err != nil && !refusal(err) {
			return nil, fmt.Errorf("infer from item %d: %w", in.Items[group[0]].Index, err)
		}
		for _, at := range group {
			out[at].Request, out[at].Err = made, err
		}
	}
	return out, nil
}

// refusal reports whether an error concerns one session, or asks to send it later.
func refusal(err error) bool {
	code := fault.CodeOf(err)
	return fault.Table[code].HTTP < 500 && code != fault.OpReused
}

func (b BatchItem) check() error {
	if b.Type != "" && b.Type != memory.Personal && b.Type != memory.Procedural {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid memory_type %q for inference", b.Type),
			"use personal or procedural, or send \"infer\": false")
	}
	if _, err := memory.NewTarget(b.kind(), b.Target); err != nil {
		return err
	}
	return memories.CheckMetadata(b.Metadata)
}

func (b BatchItem) kind() memory.Type {
	if b.Type == "" {
		return memory.Personal
	}
	return b.Type
}

// groups divides the valid items into sessions, which it returns as positions, in the order of their first item.
func (in BatchRequest) groups(checked []BatchResult) (out [][]int) {
	open := map[string]int{} // position of the latest session by target and metadata
	sizes := []int{}
	for i, item := range in.Items {
		if checked[i].Err != nil {
			continue
		}
		t, _ := memory.NewTarget(item.kind(), item.Target) // checked before
		facts, _ := json.Marshal(item.Metadata)            // checked before
		name := string(item.kind()) + "/" + t.Key + "/" + string(facts)
		size := utf8.RuneCountInString(item.Content)
		at, known := open[name]
		if !known || sizes[at]+size > groupRunes {
			at = len(out)
			open[name], out, sizes = at, append(out, nil), append(sizes, 0)
		}
		out[at], sizes[at] = append(out[at], i), sizes[at]+size
	}
	return out
}

// request returns the request of one session.
func (in BatchRequest) request(n int, group []int) Request {
	first := in.Items[group[0]]
	where := memory.Task{Type: first.kind(), Target: first.Target}
	r := Request{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Targets: []memory.Task{where}, KnownOnly: true,
		Choices: RequestOptions{Types: []memory.Type{where.Type}, Only: []memory.Task{where}, Metadata: first.Metadata},
		Spec:    in.Spec, Bulk: true}
	if in.ID != "" {
		r.ID = fmt.Sprintf("%s/%d", in.ID, n)
	}
	for _, at := range group {
		m := transcript.Message{Role: transcript.User, Content: in.Items[at].Content}
		if t := in.Items[at].Time; t != nil {
			m.Time = *t
		}
		r.Messages = append(r.Messages, m)
	}
	return r
}
