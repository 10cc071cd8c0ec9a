package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// thread returns a long thread. Each turn calls two tools at once, whose results have
// about the given number of bytes. The texts contain the name.
func thread(name string, turns, bytes int) (out []object) {
	for n := range turns {
		var calls []object
		for k := range 2 {
			calls = append(calls, object{"id": fmt.Sprintf("call-%d-%d", n, k), "type": "function",
				"function": object{"name": "read_log", "arguments": fmt.Sprintf(`{"service":%d}`, n+k)}})
		}
		out = append(out, object{"role": "user",
			"content": fmt.Sprintf("Please look at service %d of %s and at its neighbour in region north.", n, name)},
			object{"role": "assistant", "content": nil, "tool_calls": calls})
		for k := range 2 {
			line := fmt.Sprintf("service %d of %s took a request in 12 ms\n", n+k, name)
			half := strings.Repeat(line, bytes/len(line)/2)
			out = append(out, object{"role": "tool", "name": "read_log",
				"tool_call_id": fmt.Sprintf("call-%d-%d", n, k),
				"content":      half + fmt.Sprintf("listening on port %d\n", 8000+10*n+k) + half})
		}
		out = append(out, object{"role": "assistant", "content": fmt.Sprintf("Service %d of %s answers.", n, name)})
	}
	return out
}

// record is a model's summary of the messages of a thread.
func record(name string) string {
	raw, _ := json.Marshal(object{"goal": "Look at the services of " + name,
		"key_facts":      []string{"region north", "services answer"},
		"recent_actions": []string{"read_log of each service"}, "pending": []string{}})
	return string(raw)
}

// generic returns v after conversion to JSON and back.
func generic(v any) (out any) {
	raw, _ := json.Marshal(v)
	_ = json.Unmarshal(raw, &out)
	return out
}

func TestWorkingMemoryOverHTTP(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Start()
	t.Run("compact, search, read and reload", func(t *testing.T) {
		ms := thread("compacted", 12, 200_000)
		if len(ms) != 60 {
			t.Fatalf("%d messages", len(ms))
		}
		body := object{"messages": ms, "mode": "compact", "session": "s1", "keep_recent": 2}
		var got, again httpapi.OffloadAnswer
		b.post("/v1/working/offload", body).into(http.StatusOK, &got)
		b.post("/v1/working/offload", body).into(http.StatusOK, &again)
		if !reflect.DeepEqual(got, again) {
			t.Error("the same request got another answer")
		}
		if got.Mode != "compact" || got.Degraded || got.TokensAfter >= got.TokensBefore/5 || len(got.Offloaded) != 22 ||
			len(got.Messages) != 60 || !reflect.DeepEqual(generic(got.Messages[55:]), generic(ms[55:])) {
			t.Errorf("mode %s, %d of %d tokens, %d put away, %d messages", got.Mode, got.TokensAfter, got.TokensBefore,
				len(got.Offloaded), len(got.Messages))
		}
		paired(t, got.Messages)
		handle := got.Offloaded[3].Handle
		var found httpapi.GrepAnswer
		b.post("/v1/working/grep", object{"handle": handle, "pattern": "LISTENING on", "before": 1, "after": 2}).
			into(http.StatusOK, &found)
		if found.Total != 1 || len(found.Hits) != 1 || found.Hits[0].Text != "listening on port 8011" ||
			len(found.Hits[0].Before) != 1 || len(found.Hits[0].After) != 2 {
			t.Errorf("found %+v", found)
		}
		b.post("/v1/working/grep", object{"session": "s1", "pattern": `port 80\d0$`, "regex": true, "limit": 4,
			"before": 0, "after": 0}).into(http.StatusOK, &found)
		if found.Total != 10 || len(found.Hits) != 4 || found.NextOffset == nil || *found.NextOffset != 4 {
			t.Errorf("in the session: %d of %d hits, next %v", len(found.Hits), found.Total, found.NextOffset)
		}
		var page httpapi.ReadAnswer
		b.post("/v1/working/read", object{"handle": handle, "offset": found.Hits[0].Line - 1, "limit": 1}).
			into(http.StatusOK, &page)
		if len(page.Lines) != 1 || !strings.HasPrefix(page.Lines[0], "listening") || page.NextOffset == nil {
			t.Errorf("read %+v", page)
		}
		var whole, thread httpapi.ReloadAnswer
		b.post("/v1/working/reload", object{"handle": handle}).into(http.StatusOK, &whole)
		if whole.Kind != "text" || whole.Content != ms[8]["content"] {
			t.Errorf("reloaded %s %.60q", whole.Kind, whole.Content)
		}
		b.post("/v1/working/reload", object{"messages": got.Messages}).into(http.StatusOK, &thread)
		if !reflect.DeepEqual(generic(thread.Messages), generic(ms)) {
			t.Error("the reloaded thread is not the one that was put away")
		}
		ws, err := b.Store.Workspace(t.Context(), "another", true)
		testkit.Must(t, err)
		other := *b
		other.key = b.makeKey(ws, access.Admin)
		other.post("/v1/working/read", object{"handle": handle}).refused(fault.NotFound)
		other.post("/v1/working/reload", object{"messages": got.Messages}).refused(fault.NotFound)
		other.post("/v1/working/grep", object{"session": "s1", "pattern": "port"}).refused(fault.NotFound)
	})
	t.Run("auto compresses what compaction cannot", func(t *testing.T) {
		b.Model.On(openaitest.Rule{Stage: "offload", Match: "of talked", Reply: record("talked")})
		ms := thread("talked", 20, 400)
		body := object{"messages": ms, "max_total_tokens": 500, "session": "s2", "group_tokens": 1500}
		var got, again httpapi.OffloadAnswer
		b.post("/v1/working/offload", body).into(http.StatusOK, &got)
		b.post("/v1/working/offload", body).into(http.StatusOK, &again)
		asked := 0
		for _, c := range b.Model.Requests() {
			if c.Stage == "offload" && strings.Contains(c.Last, "of talked") {
				asked++
			}
		}
		if got.Mode != "compress" || got.Degraded || got.TokensAfter >= got.TokensBefore || got.Run == "" ||
			!reflect.DeepEqual(got, again) || asked != len(got.Offloaded) || asked < 2 {
			t.Errorf("mode %q, degraded %t %s, %d of %d tokens, %d put away, %d asked", got.Mode, got.Degraded,
				got.Reason, got.TokensAfter, got.TokensBefore, len(got.Offloaded), asked)
		}
		paired(t, got.Messages)
		if last := len(got.Messages) - 5; !reflect.DeepEqual(generic(got.Messages[last:]), generic(ms[len(ms)-5:])) {
			t.Error("the last turn was touched")
		}
		var whole httpapi.ReloadAnswer
		b.post("/v1/working/reload", object{"handle": got.Offloaded[0].Handle}).into(http.StatusOK, &whole)
		if whole.Kind != "messages" || len(whole.Messages) == 0 || whole.Messages[0].Content != ms[0]["content"] {
			t.Errorf("reloaded %+v", whole)
		}
		b.post("/v1/working/offload", object{"messages": ms, "max_total_tokens": 501, "request_id": "r1"}).
			into(http.StatusOK, &again)
		b.post("/v1/working/offload", object{"messages": ms, "max_total_tokens": 502, "request_id": "r1"}).
			refused(fault.OpReused)
	})
	t.Run("what is no record leaves the messages as they were", func(t *testing.T) {
		ms := thread("spoilt", 10, 400)
		var original any
		long, _ := json.Marshal(object{"goal": "services of spoilt",
			"key_facts": []string{strings.Repeat("service of spoilt ", 3000)}, "recent_actions": []string{},
			"pending": []string{}})
		bads := []string{"", "hello", `{"summary":"services of spoilt"}`, string(long),
			"Error: 500 Internal Server Error", `{"goal":"Error: the model is ` +
				`overloaded","key_facts":["x"],"recent_actions":[],"pending":[]}`}
		asked := map[int]int{}
		b.Model.On(openaitest.Rule{Stage: "offload", ReplyFunc: func(c openaitest.Call) string {
			for i, bad := range bads {
				if strings.Contains(c.Messages[1].Content, fmt.Sprintf("of spoilt-%d ", i)) {
					asked[i]++
					return bad
				}
			}
			return "none of them"
		}})
		for i, bad := range bads {
			ms[0]["content"] = fmt.Sprintf("This is of spoilt-%d indeed.", i)
			original = generic(ms)
			var got httpapi.OffloadAnswer
			b.post("/v1/working/offload", object{"messages": ms, "mode": "compress", "max_total_tokens": 100}).
				into(http.StatusOK, &got)
			if !got.Degraded || got.Reason == "" || got.TokensAfter != got.TokensBefore || len(got.Offloaded) != 0 ||
				!reflect.DeepEqual(generic(got.Messages), original) {
				t.Errorf("%.40q: degraded %t (%s), %d messages", bad, got.Degraded, got.Reason, len(got.Messages))
			}
			if asked[i] != 2 { // once, and once more with the validation error
				t.Errorf("%.40q: asked %d times", bad, asked[i])
			}
		}
	})
	t.Run("bad input", func(t *testing.T) {
		ms := thread("bad", 2, 100)
		nothing := "offload://" + strings.Repeat("0", 64)
		for name, c := range map[string]struct {
			path string
			body object
			code fault.Code
		}{
			"unknown handle":  {"read", object{"handle": nothing}, fault.NotFound},
			"no handle":       {"read", object{"handle": "/etc/passwd"}, fault.InvalidArgument},
			"negative offset": {"read", object{"handle": nothing, "offset": -1}, fault.InvalidArgument},
			"huge limit":      {"read", object{"handle": nothing, "limit": 100000}, fault.InvalidArgument},
			"bad expression": {"grep", object{"handle": nothing, "pattern": "(", "regex": true},
				fault.InvalidArgument},
			"look-around": {"grep", object{"handle": nothing, "pattern": "(?=x)", "regex": true},
				fault.InvalidArgument},
			"negative grep": {"grep", object{"handle": nothing, "pattern": "x", "offset": -1},
				fault.InvalidArgument},
			"nowhere to look": {"grep", object{"pattern": "x"}, fault.InvalidArgument},
			"unknown session": {"grep", object{"session": "none", "pattern": "x"}, fault.NotFound},
			"neither":         {"reload", object{}, fault.InvalidArgument},
			"both":            {"reload", object{"handle": nothing, "messages": ms}, fault.InvalidArgument},
			"unknown mode":    {"offload", object{"messages": ms, "mode": "zip"}, fault.InvalidArgument},
			"no messages":     {"offload", object{"messages": []object{}}, fault.InvalidArgument},
			"result of no call": {"offload", object{
				"messages": []object{{"role": "tool", "tool_call_id": "x", "content": "y"}}}, fault.InvalidArgument},
			"negative threshold": {"offload", object{"messages": ms, "max_total_tokens": -5}, fault.InvalidArgument},
			"control characters": {"offload", object{"messages": ms, "session": "a\u0007b"}, fault.InvalidArgument},
		} {
			t.Run(name, func(*testing.T) { b.post("/v1/working/"+c.path, c.body).refused(c.code) })
		}
	})
	t.Run("what has expired is gone", func(t *testing.T) {
		var got httpapi.OffloadAnswer
		b.post("/v1/working/offload", object{"messages": thread("expired", 4, 40_000), "mode": "compact",
			"keep_recent": 0, "ttl_seconds": 3600, "session": "s3"}).into(http.StatusOK, &got)
		_, err := b.Admin().Exec(t.Context(), "update cairn.offload_blobs b set expires_at = now() - interval '1 "+
			"second' from cairn.offload_uses u where u.sha256 = b.sha256 and u.session = 's/s3'")
		testkit.Must(t, err)
		b.post("/v1/working/read", object{"handle": got.Offloaded[0].Handle}).refused(fault.NotFound)
		testkit.Must(t, b.Relay.Tidy(t.Context()))
		var blobs, uses int
		testkit.Must(t, b.Admin().QueryRow(t.Context(), "select (select count(*) from cairn.offload_blobs where "+
			"expires_at < now()), (select count(*) from cairn.offload_uses where session = 's/s3')").
			Scan(&blobs, &uses))
		if blobs != 0 || uses != 0 {
			t.Errorf("%d blobs and %d uses are left", blobs, uses)
		}
	})
}

// paired checks that its results follow each call, and that each result has a call.
func paired(t *testing.T, ms []httpapi.SessionMessage) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range ms {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				t.Errorf("message %d is the result of no call", i)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d comes before results", i)
		}
		for _, c := range m.ToolCalls {
			open[c.(map[string]any)["id"].(string)] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no result", open)
	}
}

// A model that takes longer than its caller waits, and a worker that is not running
// yet, cause no second payment.
func TestAnOffloadGoesOnWithoutItsCaller(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Model.On(openaitest.Rule{Stage: "offload", Reply: record("late")})
	body := object{"messages": thread("late", 8, 400), "mode": "compress", "max_total_tokens": 100, "wait": 1}
	var got httpapi.OffloadAnswer
	b.post("/v1/working/offload", body).into(http.StatusOK, &got)
	if !got.Degraded || got.Run == "" || len(got.Messages) != 40 {
		t.Errorf("without a worker: %+v", got.Reason)
	}
	b.Start()
	body["wait"] = 60
	first := got.Run
	b.post("/v1/working/offload", body).into(http.StatusOK, &got)
	if got.Degraded || got.Run != first || got.Mode != "compress" || len(b.Model.Requests()) != 1 {
		t.Errorf("run %s after %s, mode %q, %s, %d requests", got.Run, first, got.Mode, got.Reason,
			len(b.Model.Requests()))
	}
}
