package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
)

// NewMemoryBatch is the request to save many long-term memories.
type NewMemoryBatch struct {
	Infer    bool        `json:"infer,omitempty" doc:"Whether memories are inferred from the contents, which are then statements of users. Default false: the contents are stored as they are"`
	Memories []NewMemory `json:"memories" minItems:"1" maxItems:"1000" doc:"Up to 1,000 memories. memory_type is required, unless infer is true; it is then personal by default"`
}

// BatchedMemory is the result of one memory of a batch.
type BatchedMemory struct {
	Index   int        `json:"index" doc:"Place in the request, from 0"`
	ID      string     `json:"id,omitempty"`
	Status  string     `json:"status" enum:"added,duplicate,updated,accepted,failed" doc:"duplicate: the memory existed. updated: it replaced the guideline of a tool. accepted: the request request_id infers memories"`
	Request string     `json:"request_id,omitempty" doc:"With infer, the request that GET /v1/requests/{id} shows; items of one target share it"`
	Code    fault.Code `json:"code,omitempty" doc:"Stable error code"`
	Message string     `json:"message,omitempty" doc:"What failed"`
	Hint    string     `json:"hint,omitempty" doc:"How to fix the problem"`
}

// MemoryBatch is the result of a batch.
type MemoryBatch struct {
	Added      int             `json:"added"`
	Duplicates int             `json:"duplicates"`
	Updated    int             `json:"updated"`
	Accepted   int             `json:"accepted,omitempty" doc:"With infer, items whose memories are being inferred"`
	Failed     int             `json:"failed"`
	Results    []BatchedMemory `json:"results" doc:"One result for each memory, in the order of the request"`
}

type batchInput struct {
	IdempotencyKey
	RawBody []byte
}

func (g *Gateway) memoryBatchRoutes() {
	row := schemaOf[NewMemory](g)
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/memories/batch",
		id:      "addMemories",
		tag:     tagMemory,
		scope:   access.Write,
		byBytes: true,
		summary: "Save or infer up to 1,000 long-term memories",
		about: "Each memory is checked like a single one. An invalid memory fails alone and the others are stored, " +
			"in one transaction. With the same Idempotency-Key, the request is applied once and the response is " +
			"the same. With infer, the statements of each target become sessions from which memories are " +
			"inferred; the response names their requests. The route is limited by bytes per second " +
			"(CAIRN_BATCH_BYTES) instead of requests.",
		body: &huma.RequestBody{Required: true, Content: content("application/json", schemaOf[NewMemoryBatch](g))},
	}, func(ctx context.Context, in *batchInput) (*bodyOf[MemoryBatch], error) {
		infer, rows, err := decodeBatch(in.RawBody)
		if err != nil {
			return nil, err
		}
		batch := make([]memories.BatchMemory, len(rows))
		for i, raw := range rows {
			if batch[i], err = g.batchMemory(row, raw, infer); err != nil {
				failed := memories.FailedItem(i, err)
				batch[i] = memories.BatchMemory{Refused: &failed}
			}
		}
		if infer {
			return g.inferBatch(ctx, in.Key, batch)
		}
		items, err := g.LongTerm.AddBatch(ctx, person(ctx, in.IdempotencyKey), batch)
		return &bodyOf[MemoryBatch]{batched(items)}, err
	})
}

const batchExample = `send {"memories":[{"memory_type":"personal","memory_target":"Ada","content":"Keeps bees."}]}`

// decodeBatch returns the memories of a batch, which may be invalid.
func decodeBatch(raw []byte) (infer bool, rows []json.RawMessage, err error) {
	var body struct {
		Infer    bool              `json:"infer"`
		Memories []json.RawMessage `json:"memories"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err = d.Decode(&body)
	if _, end := d.Token(); err == nil && end != io.EOF {
		err = fmt.Errorf("unexpected data after the object")
	}
	switch {
	case err != nil:
		return false, nil, fault.New(fault.InvalidArgument, "invalid body: "+err.Error(), batchExample)
	case len(body.Memories) == 0:
		return false, nil, fault.New(fault.InvalidArgument, "batch has no memories", batchExample)
	case len(body.Memories) > memories.MaxBatched:
		return false, nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("batch has %d memories, at most %d are allowed", len(body.Memories), memories.MaxBatched),
			fmt.Sprintf("send them in requests of up to %d memories, each with its own Idempotency-Key",
				memories.MaxBatched))
	}
	return body.Infer, body.Memories, nil
}

// inferBatch accepts statements from which memories are inferred.
func (g *Gateway) inferBatch(ctx context.Context, once string, batch []memories.BatchMemory) (*bodyOf[MemoryBatch],
	error) {
	from := asking(ctx)
	in := memoryagent.BatchRequest{Workspace: from.Workspace.ID, WorkspaceKey: from.Workspace.Key, ID: once,
		Spec: g.Options.TurnSpec()}
	items := make([]memories.ItemResult, len(batch))
	for i, m := range batch {
		if m.Refused != nil {
			items[i] = *m.Refused
			continue
		}
		in.Items = append(in.Items, memoryagent.BatchItem{Index: i, Type: m.Type, Target: m.Target, Content: m.Content,
			Time: m.EventTime, Metadata: m.Metadata})
	}
	requests := make([]string, len(batch))
	if len(in.Items) > 0 {
		results, err := g.Progressive.SummarizeBatch(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			if r.Err != nil {
				items[r.Index] = memories.FailedItem(r.Index, r.Err)
				continue
			}
			items[r.Index] = memories.ItemResult{Index: r.Index, Status: accepted}
			requests[r.Index] = r.Request.Key
		}
	}
	out := batched(items)
	for i := range out.Results {
		out.Results[i].Request = requests[i]
	}
	return &bodyOf[MemoryBatch]{out}, nil
}

// accepted is the status of an item whose memories are being inferred.
const accepted = "accepted"

// batchMemory decodes a memory of a batch by the schema of single memories.
func (g *Gateway) batchMemory(schema *huma.Schema, raw json.RawMessage, infer bool) (out memories.BatchMemory,
	err error) {
	if !utf8.Valid(raw) {
		return out, fault.New(fault.InvalidArgument, "memory is not valid UTF-8", "encode the request as UTF-8")
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return out, fault.New(fault.InvalidArgument, "invalid memory: "+err.Error(), batchExample)
	}
	result := &huma.ValidateResult{}
	huma.Validate(g.api.OpenAPI().Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer,
		value, result)
	if len(result.Errors) > 0 {
		message := "invalid memory"
		for _, err := range result.Errors {
			if detail, ok := err.(huma.ErrorDetailer); ok {
				d := detail.ErrorDetail()
				message += "; " + strings.TrimPrefix(d.Location+": "+d.Message, ": ")
			}
		}
		return out, fault.New(fault.InvalidArgument, message, "correct the memory; see /openapi.json for the schema")
	}
	var m NewMemory
	if err := json.Unmarshal(raw, &m); err != nil {
		return out, fault.New(fault.InvalidArgument, "invalid memory: "+err.Error(), batchExample)
	}
	switch {
	case infer && (m.WhenToUse != "" || m.Importance != 0):
		return out, fault.New(fault.InvalidArgument, "when_to_use and importance are inferred",
			"omit them, or send \"infer\": false")
	case m.Type == "" && m.Store != "" || m.Type == "" && !infer:
		return out, fault.New(fault.InvalidArgument, "memory_type is required in a batch",
			"use personal, procedural or tool; save memories of prompts with POST /v1/memories")
	}
	return memories.BatchMemory{Type: memory.Type(m.Type), Target: m.Target,
		NewMemory: memories.NewMemory{Content: m.Content, WhenToUse: m.WhenToUse, Metadata: m.Metadata,
			EventTime: m.EventTime, Importance: m.Importance}}, nil
}

// batched converts the results of a batch.
func batched(items []memories.ItemResult) MemoryBatch {
	out := MemoryBatch{Results: []BatchedMemory{}}
	for _, i := range items {
		r := BatchedMemory{Index: i.Index, ID: i.ID, Status: i.Status, Code: i.Code, Message: i.Message, Hint: i.Hint}
		switch i.Status {
		case memories.Added:
			out.Added++
		case memories.Updated:
			out.Updated++
		case accepted:
			out.Accepted++
		case memories.Failed:
			out.Failed++
		default:
			r.Status = "duplicate"
			out.Duplicates++
		}
		out.Results = append(out.Results, r)
	}
	return out
}
