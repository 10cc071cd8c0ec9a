package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/transcript"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestAQuestionWithoutAMatchingMemoryGetsTurns(t *testing.T) {
	t.Parallel()
	b := idle(t)
	said := time.Date(2026, 3, 1, 18, 0, 0, 0, time.UTC)
	testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "dinner",
			Messages: []transcript.Message{
				{Role: transcript.User, Name: "Ida", Content: "Who cooks tonight?", Time: said},
				{
					Role:    transcript.User,
					Name:    "Otto",
					Content: "I make gnocchi with sage.",
					Time:    said.Add(time.Minute),
				},
			}}, "import")
		return err
	}))
	for _, c := range []struct {
		name  string
		with  object
		first string // turn
	}{
		{"any", object{}, "dinner#1"},
		{"its speaker", object{"targets": []object{{"memory_type": "personal", "memory_target": "Otto"}}}, "dinner#1"},
		{"another speaker", object{"targets": []object{{"memory_type": "personal", "memory_target": "Eva"}}}, ""},
		{"its day", object{"time_filter": "20260301"}, "dinner#1"},
		{"another day", object{"time_filter": "20260302"}, ""},
		{"one type of memories", object{"memory_types": []string{"personal"}}, ""},
		{"an agent without memories", object{"mode": "agentic"}, "dinner#1"},
	} {
		body := object{"query": "gnocchi with sage", "mode": "fast"}
		for k, v := range c.with {
			body[k] = v
		}
		var out httpapi.MemoryAnswer
		b.post("/v1/retrieve_memory", body).into(http.StatusOK, &out)
		first := ""
		if len(out.Turns) > 0 {
			first = out.Turns[0].ID
		}
		if first != c.first || len(out.Memories) > 0 || out.Success ||
			strings.Contains(out.Note, "stored conversations") != (c.first != "") {
			t.Errorf("%s: %+v", c.name, out)
		}
		for _, turn := range out.Turns {
			if turn.ID == "dinner#1" && (turn.Speaker != "Otto" || turn.Time == nil ||
				!turn.Time.Equal(said.Add(time.Minute)) || turn.Conversation != "dinner" || turn.Seq != 1) {
				t.Errorf("%s: turn %+v", c.name, turn)
			}
		}
	}

	b.post("/v1/memories", object{"content": "Otto often makes gnocchi with sage", "memory_type": "personal",
		"memory_target": "Otto"}).into(http.StatusCreated, nil)
	var out httpapi.MemoryAnswer
	b.post("/v1/retrieve_memory", object{"query": "gnocchi with sage", "mode": "fast"}).into(http.StatusOK, &out)
	if len(out.Memories) != 1 || len(out.Turns) > 0 || out.Note != "" {
		t.Errorf("with a memory: %+v", out)
	}
}

func TestAStoredAnswerHasTheTurnsOfItsQuestion(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.remembers("personal", "ida", "Ida flies from Osaka only.")
	testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		said := transcript.Message{Role: transcript.User, Name: "Otto", Content: "I make gnocchi with sage."}
		_, err := q.Transcripts().PutConversation(ctx,
			transcript.Conversation{ID: "dinner", Messages: []transcript.Message{said}}, "import")
		return err
	}))
	b.Model.On(openaitest.Rule{Stage: "retrieve", Reply: "<NO_RELEVANT_MEMORY>"})
	for _, c := range []struct {
		with  object
		turns int
	}{{object{}, 1}, {object{"memory_types": []string{"personal"}}, 0}} {
		body := object{"query": "gnocchi with sage", "mode": "agentic", "wait": 60}
		for k, v := range c.with {
			body[k] = v
		}
		var out httpapi.MemoryAnswer
		b.post("/v1/retrieve_memory", body).into(http.StatusOK, &out)
		var stored httpapi.MemoryRequest
		b.get("/v1/requests/"+out.Request).into(http.StatusOK, &stored)
		if len(out.Turns) != c.turns || stored.Retrieved == nil || len(stored.Retrieved.Turns) != c.turns {
			t.Errorf("%v: %+v, stored %+v", c.with, out, stored.Retrieved)
		}
	}
}
