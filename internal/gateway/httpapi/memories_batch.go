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

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/apikey"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
)

// NewMemoryBatch is the request to save many long-term memories.
type NewMemoryBatch struct {
	Infer    bool        `json:"infer,omitempty" doc:"Must be false: the memories are stored as they are"`
	Memories []NewMemory `json:"memories" minItems:"1" maxItems:"500" doc:"Up to 500 memories; memory_type is required"`
}

// BatchedMemory is the result of one memory of a batch.
type BatchedMemory struct {
	Index   int        `json:"index" doc:"Place in the request, from 0"`
	ID      string     `json:"id,omitempty"`
	Status  string     `json:"status" enum:"added,duplicate,updated,failed" doc:"duplicate: the memory existed. updated: it replaced the guideline of a tool"`
	Code    fault.Code `json:"code,omitempty" doc:"Stable error code"`
	Message string     `json:"message,omitempty" doc:"What failed"`
	Hint    string     `json:"hint,omitempty" doc:"How to fix the problem"`
}

// MemoryBatch is the result of a batch.
type MemoryBatch struct {
	Added      int             `json:"added"`
	Duplicates int             `json:"duplicates"`
	Updated    int             `json:"updated"`
	Failed     int             `json:"failed"`
	Results    []BatchedMemory `json:"results" doc:"One result for each memory, in the order of the request"`
}

type batchInput struct {
	IdempotencyKey
	RawBody []byte
}

func (g *Gateway) memoryBatchRoutes() {
	row := schemaOf[NewMemory](g)
	handle(g, route{method: http.MethodPost, path: "/v1/memories/batch", id: "addMemories", tag: tagMemory,
		scope: apikey.Write, summary: "Save up to 500 long-term memories in one transaction",
		about: "Each memory is checked like a single one. An invalid memory fails alone and the others are stored. " +
			"With the same Idempotency-Key, the request is applied once and the response is the same.",
		body: &huma.RequestBody{Required: true, Content: content("application/json", schemaOf[NewMemoryBatch](g))},
	}, func(ctx context.Context, in *batchInput) (*bodyOf[MemoryBatch], error) {
		rows, err := decodeBatch(in.RawBody)
		if err != nil {
			return nil, err
		}
		batch := make([]longterm.BatchMemory, len(rows))
		for i, raw := range rows {
			if batch[i], err = g.batchMemory(row, raw); err != nil {
				failed := longterm.FailedItem(i, err)
				batch[i] = longterm.BatchMemory{Refused: &failed}
			}
		}
		items, err := g.LongTerm.AddBatch(ctx, person(ctx, in.IdempotencyKey), batch)
		return &bodyOf[MemoryBatch]{batched(items)}, err
	})
}

const batchExample = `send {"memories":[{"memory_type":"personal","memory_target":"Ada","content":"Keeps bees."}]}`

// decodeBatch returns the memories of a batch, which may be invalid.
func decodeBatch(raw []byte) ([]json.RawMessage, error) {
	var body struct {
		Infer    bool              `json:"infer"`
		Memories []json.RawMessage `json:"memories"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&body)
	if _, end := d.Token(); err == nil && end != io.EOF {
		err = fmt.Errorf("unexpected data after the object")
	}
	switch {
	case err != nil:
		return nil, fault.New(fault.InvalidArgument, "invalid body: "+err.Error(), batchExample)
	case body.Infer:
		return nil, fault.New(fault.InvalidArgument, "infer must be false: batches are stored without a model",
			"send \"infer\": false, or send each session to POST /v1/summary_memory")
	case len(body.Memories) == 0:
		return nil, fault.New(fault.InvalidArgument, "batch has no memories", batchExample)
	case len(body.Memories) > longterm.MostBatched:
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("batch has %d memories, at most %d are allowed", len(body.Memories), longterm.MostBatched),
			fmt.Sprintf("send them in requests of up to %d memories, each with its own Idempotency-Key",
				longterm.MostBatched))
	}
	return body.Memories, nil
}

// batchMemory decodes a memory of a batch by the schema of single memories.
func (g *Gateway) batchMemory(schema *huma.Schema, raw json.RawMessage) (out longterm.BatchMemory, err error) {
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
	if m.Type == "" {
		return out, fault.New(fault.InvalidArgument, "memory_type is required in a batch",
			"use personal, procedural or tool; save memories of prompts with POST /v1/memories")
	}
	return longterm.BatchMemory{Type: memory.Type(m.Type), Target: m.Target,
		NewMemory: longterm.NewMemory{Content: m.Content, WhenToUse: m.WhenToUse, Metadata: m.Metadata,
			EventTime: m.EventTime, Importance: m.Importance}}, nil
}

// batched converts the results of a batch.
func batched(items []longterm.ItemResult) MemoryBatch {
	out := MemoryBatch{Results: []BatchedMemory{}}
	for _, i := range items {
		r := BatchedMemory{Index: i.Index, ID: i.ID, Status: i.Status, Code: i.Code, Message: i.Message, Hint: i.Hint}
		switch i.Status {
		case memorywrite.Added:
			out.Added++
		case longterm.Updated:
			out.Updated++
		case longterm.Failed:
			out.Failed++
		default:
			r.Status = "duplicate"
			out.Duplicates++
		}
		out.Results = append(out.Results, r)
	}
	return out
}
