package ledger_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/testkit"
)

// whole joins a divided request.
func whole(d modelcall.Divided) string {
	out := d.Pieces[0]
	for i, part := range d.Parts {
		out += part + d.Pieces[i+1]
	}
	return out
}

func TestADividedRequestIsTheSameAgain(t *testing.T) {
	t.Parallel()
	long := `{"role":"user","content":"` + strings.Repeat("grüne Ente, ", 20) + `"}`
	tools := `[{"type":"function","function":{"name":"look","description":"` + strings.Repeat("Looks. ", 30) + `"}}]`
	for body, parts := range map[string]int{
		`{"messages":[` + long + `,{"role":"user","content":"Hi"},` + long + `],"model":"m","tools":` + tools + `}`: 3,
		` { "model" : "m" , "messages" : [ ` + long + ` , ` + long + ` ] } `:                                        2,
		`{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0.5}`:                               0,
		`{"messages":[]}`:         0,
		`{"messages":"` + long:    0,
		`[` + long + `]`:          0,
		`not JSON ` + long:        0,
		``:                        0,
		`{"messages":[` + long:    0, // a cut request has one piece
		`{"messages":{},"x":1}`:   0,
		`{"tools":` + tools + `}`: 1,
	} {
		d := modelcall.Divide([]byte(body), false)
		if got := whole(d); got != body || len(d.Parts) != parts || len(d.SHAs()) != parts {
			t.Errorf("%.80s: %d parts, want %d; joined %.80s", body, len(d.Parts), parts, got)
		}
	}
}

func TestConstantPartsAreShared(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Write what you learn. ", 10)
	body := []byte(`{"messages":[{"role":"system","content":"` + text + `"},{"role":"user","content":"` + text +
		`"}],"response_format":{"type":"json_schema","text":"` + text + `"},"metadata":{"text":"` + text + `"}}`)
	if d := modelcall.Divide(body, true); !slices.Equal(d.Shared, []bool{true, false, true, false}) {
		t.Errorf("constant: %v", d.Shared)
	}
	if d := modelcall.Divide(body, false); slices.Contains(d.Shared, true) {
		t.Errorf("not constant: %v", d.Shared)
	}
}

func FuzzDivide(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"Hi"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := whole(modelcall.Divide(body, false)); got != string(body) {
			t.Errorf("%q became %q", body, got)
		}
	})
}

func TestWhatRequestsOfAConversationRepeatIsStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("what every request says, ", 20)
	for _, step := range []string{"a", "b", "c"} {
		_, err := b.ask(t.Context(), step, long)
		testkit.Must(t, err)
	}
	_, err := b.ask(t.Context(), "d", "short")
	testkit.Must(t, err)
	if n := b.number("select count(*) from request_parts"); n != 1 {
		t.Errorf("%d parts, want 1", n)
	}
	for i, body := range b.model.requests() {
		if n := b.number(
			"select count(*) from llm_calls where step = $1 and request_sha = sha256(convert_to($2, 'UTF8')) "+
				"and cairn.request_of(workspace_id, conversation_id, request, parts) = $2",
			string(rune('a'+i)),
			body,
		); n != 1 {
			t.Errorf("request %d is not stored as it was sent: %s", i, body)
		}
	}
}

func TestTheStoredRequestIsSentAgainUnlessAPartOfItWasErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := strings.Repeat("the first prompt ", 20), strings.Repeat("the second prompt ", 20)
	refused := &llm.Error{Class: llm.Retryable, Status: http.StatusServiceUnavailable}
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		if n < 3 {
			return llm.Reply{}, refused
		}
		return said("yes"), nil
	})
	ask := func(prompt string) {
		t.Helper()
		if _, err := b.ask(t.Context(), "s", prompt); err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
	ask(first)
	ask(second)
	_, err := b.admin.Exec(t.Context(), "delete from request_parts")
	testkit.Must(t, err)
	ask(second)
	sent := b.model.requests()
	if len(sent) != 3 || sent[1] != sent[0] || !strings.Contains(sent[2], "the second prompt") {
		t.Fatalf("sent %q", sent)
	}
	if n := b.number("select count(*) from llm_calls where request = array[$1] and state = 'done' and attempts = 3",
		sent[2]); n != 1 {
		t.Error("the request that was answered is not stored")
	}
}
