package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/mcpserver"
	"cairn/internal/testkit"
)

// others are pairs of IDs of different subjects.
var others = map[string][2]string{
	"case":           {"qWeRt", "QwErT"},
	"case and dash":  {"ab", "A-B"},
	"underscores":    {"u_1_11", "u_11_1"},
	"dots":           {"j.doe@example.com", "jdoe@example.com"},
	"spaces":         {"jin li", "jinli"},
	"two spaces":     {"jin li", "jin  li"},
	"trailing space": {"ada", "ada "},
	"leading space":  {"ada", " ada"},
	"full width":     {"ABC1", "ＡＢＣ1"},
	"ligature":       {"ﬁn", "fin"},
	"sharp s":        {"straße", "strasse"},
	"apostrophes":    {"o'neil", "o’neil"},
	"dotless i":      {"I1", "ı1"},
	"zero width":     {"ada", "a\u200bda"},
	"accent":         {"Amelie", "Amélie"},
	"commas":         {"ada", "ada,bob"},
	"escapes":        {"a(b)", `a\(b\)`},
}

// subjectDoor is a way in which clients name subjects.
type subjectDoor struct {
	add  func(id, text string)
	list func(id string) []string
	find func(id, query string) []string
	drop func(id string) // deletes all memories
}

func (b *bundle) subjectDoors() map[string]subjectDoor {
	contents := func(path string) (out []string) {
		b.T.Helper()
		var got struct {
			Memories []struct{ Content string }
		}
		b.get(path).into(http.StatusOK, &got)
		for _, m := range got.Memories {
			out = append(out, m.Content)
		}
		return out
	}
	list := func(id string) []string { return contents("/v1/memories?targets=" + url.QueryEscape(id)) }
	drop := func(id string) {
		b.T.Helper()
		b.do(request{method: http.MethodDelete, path: "/v1/memories?targets=" + url.QueryEscape(id)}).
			into(http.StatusOK, nil)
	}
	return map[string]subjectDoor{
		"v1": {list: list, drop: drop,
			add: func(id, text string) {
				b.T.Helper()
				b.post("/v1/memories", object{"content": text, "memory_type": "personal", "memory_target": id}).
					into(http.StatusCreated, nil)
			},
			find: func(id, query string) []string {
				b.T.Helper()
				var got struct {
					Memories []struct{ Content string }
				}
				b.post("/v1/retrieve_memory", object{"query": query, "mode": "fast",
					"targets": []object{{"memory_type": "personal", "memory_target": id}}}).into(http.StatusOK, &got)
				var out []string
				for _, m := range got.Memories {
					out = append(out, m.Content)
				}
				return out
			}},
		"batch": {list: func(id string) []string {
			return contents("/v1/memories/browse?status=active&target=" + url.QueryEscape(id))
		},
			drop: drop,
			add: func(id, text string) {
				b.T.Helper()
				var got struct{ Added int }
				b.post("/v1/memories/batch", object{"memories": []object{{"content": text, "memory_type": "personal",
					"memory_target": id}}}).into(http.StatusOK, &got)
				if got.Added != 1 {
					b.T.Fatalf("added %d memories of %q", got.Added, id)
				}
			},
			find: func(id, query string) (out []string) {
				b.T.Helper()
				var got struct {
					Found []struct{ Text string }
				}
				b.get("/v1/search?kinds=memory&q="+url.QueryEscape(query)+"&targets="+url.QueryEscape(id)).
					into(http.StatusOK, &got)
				for _, m := range got.Found {
					out = append(out, m.Text)
				}
				return out
			}},
		"mem0": b.mem0Door("user_id"), "mem0 agent": b.mem0Door("agent_id"), "mem0 run": b.mem0Door("run_id"),
		"mcp": b.mcpDoor(list, drop),
	}
}

// mem0Door names subjects in one member, as mem0's clients do.
func (b *bundle) mem0Door(member string) subjectDoor {
	m := mem0{b, "/mem0", map[string]string{"Authorization": "", "X-API-Key": b.key}}
	texts := func(r response) (out []string) {
		b.T.Helper()
		var got mem0Results
		r.into(http.StatusOK, &got)
		for _, one := range got.Results {
			out = append(out, one.Memory)
		}
		return out
	}
	return subjectDoor{
		add: func(id, text string) {
			b.T.Helper()
			m.do(http.MethodPost, "/memories", object{"messages": text, member: id, "infer": false}).
				into(http.StatusOK, nil)
		},
		list: func(id string) []string {
			b.T.Helper()
			return texts(m.do(http.MethodGet, "/memories?"+member+"="+url.QueryEscape(id), nil))
		},
		find: func(id, query string) []string {
			b.T.Helper()
			return texts(m.do(http.MethodPost, "/search", object{"query": query, "filters": object{member: id}}))
		},
		drop: func(id string) {
			b.T.Helper()
			m.do(http.MethodDelete, "/memories?"+member+"="+url.QueryEscape(id), nil).into(http.StatusOK, nil)
		},
	}
}

// mcpDoor names subjects in the calls of tools.
func (b *bundle) mcpDoor(list func(string) []string, drop func(string)) subjectDoor {
	s, err := b.speak(b.key, mcpserver.Memory)
	testkit.Must(b.T, err)
	return subjectDoor{list: list, drop: drop,
		add: func(id, text string) {
			b.T.Helper()
			if r := b.call(s, "add_memory", object{"memory_type": "personal", "memory_target": id,
				"memory_content": text}, mcp.Meta{}); r.IsError {
				b.T.Fatalf("add_memory: %v", r.StructuredContent)
			}
		},
		find: func(id, query string) []string {
			b.T.Helper()
			r := b.call(s, "vector_retrieve_memory", object{"query_items": []object{{"memory_type": "personal",
				"memory_target": id, "query": query}}}, mcp.Meta{})
			ids, _ := r.StructuredContent.(map[string]any)["memory_ids"].([]any)
			if r.IsError {
				b.T.Fatalf("vector_retrieve_memory: %v", r.StructuredContent)
			}
			var out []string
			for _, id := range ids {
				var got struct{ Content string }
				b.get(fmt.Sprint("/v1/memories/", id)).into(http.StatusOK, &got)
				out = append(out, got.Content)
			}
			return out
		}}
}

// Clients name subjects by IDs. Two IDs are one subject only if they are equal after NFC, in every call
// that names one, over every door.
func TestIDsOfClientsNameOneSubjectEach(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for name := range b.subjectDoors() {
		for kind, pair := range others {
			t.Run(name+"/"+kind, func(t *testing.T) {
				b := &bundle{Bundle: b.Part(t), gateway: b.gateway, url: b.url}
				b.key = b.makeKey(b.Workspace, "admin")
				door := b.subjectDoors()[name]
				for i, id := range pair {
					door.add(id, fmt.Sprintf("Keeps bees, says %d.", i))
				}
				for i, id := range pair {
					want := []string{fmt.Sprintf("Keeps bees, says %d.", i)}
					if got := door.list(id); !slices.Equal(got, want) {
						t.Errorf("%q lists %q, want %q", id, got, want)
					}
					if got := door.find(id, "Who keeps bees?"); !slices.Equal(got, want) {
						t.Errorf("%q finds %q, want %q", id, got, want)
					}
				}
				b.sameAfterALoad(pair[:])
				door.drop(pair[0])
				if got := door.list(pair[0]); len(got) != 0 {
					t.Errorf("after its deletion, %q has %q", pair[0], got)
				}
				if got := door.list(pair[1]); len(got) != 1 {
					t.Errorf("after the deletion of %q, %q has %q", pair[0], pair[1], got)
				}
			})
		}
	}
}

// sameAfterALoad loads a dump of the workspace into another one, where each subject has what it had.
func (b *bundle) sameAfterALoad(ids []string) {
	b.T.Helper()
	file := b.get("/v1/memories/dump")
	file.into(http.StatusOK, nil)
	copied := b.Part(b.T)
	to := &bundle{Bundle: copied, gateway: b.gateway, url: b.url}
	to.key = to.makeKey(copied.Workspace, "admin")
	to.do(request{method: http.MethodPost, path: "/v1/memories/load", body: file.body}).into(http.StatusOK, nil)
	query := `select coalesce(string_agg(target || ': ' || content, '; ' order by content), '') from cairn.memories
		where workspace_id = $1 and target = any($2)`
	var was, is string
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), query, b.Workspace.ID, ids).Scan(&was))
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), query, copied.Workspace.ID, ids).Scan(&is))
	if was == "" || is != was {
		b.T.Errorf("the subjects had %q and have %q after a load", was, is)
	}
}

// The same letter in two forms of Unicode is the same ID.
func TestIDsThatAreEqualAfterNFCAreOneSubject(t *testing.T) {
	t.Parallel()
	b := idle(t)
	composed := "Amélie Núñez"
	split := norm.NFD.String(composed)
	for name := range b.subjectDoors() {
		t.Run(name, func(t *testing.T) {
			b := &bundle{Bundle: b.Part(t), gateway: b.gateway, url: b.url}
			b.key = b.makeKey(b.Workspace, "admin")
			door := b.subjectDoors()[name]
			door.add(split, "Keeps bees.")
			door.add(composed, "Keeps geese.")
			for _, id := range []string{composed, split} {
				if got := door.list(id); len(got) != 2 {
					t.Errorf("%+q lists %q", id, got)
				}
				if got := door.find(id, "Who keeps bees?"); !slices.Contains(got, "Keeps bees.") {
					t.Errorf("%+q finds %q", id, got)
				}
			}
			door.drop(split)
			if got := door.list(composed); len(got) != 0 {
				t.Errorf("%+q still has %q", composed, got)
			}
		})
	}
}

// An ID that cannot be stored as it is, is refused: it must not become that of another subject.
func TestIDsWithControlCharactersAreRefused(t *testing.T) {
	t.Parallel()
	b := idle(t)
	m := mem0{b, "/mem0", map[string]string{"Authorization": "", "X-API-Key": b.key}}
	for _, id := range []string{"ada\x00", "ada\n", "\tada", "  "} {
		b.post("/v1/memories", object{"content": "Keeps bees.", "memory_type": "personal", "memory_target": id}).
			refused(fault.InvalidArgument)
		for _, member := range []string{"user_id", "agent_id", "app_id", "run_id"} {
			body := object{"messages": "Keeps bees.", "user_id": "ada", "infer": false}
			body[member] = id
			if r := m.do(http.MethodPost, "/memories", body); r.status != http.StatusBadRequest {
				t.Errorf("%s %q: status %d", member, id, r.status)
			}
		}
	}
	var n int
	testkit.Must(t, b.Admin().QueryRow(t.Context(), "select count(*) from cairn.memories").Scan(&n))
	if n != 0 {
		t.Errorf("%d memories were stored", n)
	}
}

// The erasure of a subject plans to remove its memories, and those of no other ID.
func TestAnErasureIsOfOneID(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for kind, pair := range others {
		t.Run(kind, func(t *testing.T) {
			b := &bundle{Bundle: b.Part(t), gateway: b.gateway, url: b.url}
			b.key = b.makeKey(b.Workspace, "admin")
			door := b.subjectDoors()["mem0"]
			for i, id := range pair {
				door.add(id, fmt.Sprintf("Keeps bees, says %d.", i))
			}
			var plan struct{ Rows map[string]int }
			erase := "/v1/targets/" + url.PathEscape(pair[0])
			b.do(request{method: http.MethodDelete, path: erase + "?dry_run=true"}).into(http.StatusOK, &plan)
			if plan.Rows["memories"] != 1 || plan.Rows["memory_targets"] != 1 {
				t.Errorf("would erase %v", plan.Rows)
			}
			b.do(request{method: http.MethodDelete, path: erase}).into(http.StatusAccepted, nil)
			var second struct{ Rows map[string]int }
			b.do(request{method: http.MethodDelete, path: "/v1/targets/" + url.PathEscape(pair[1]) + "?dry_run=true"}).
				into(http.StatusOK, &second)
			if second.Rows["memory_targets"] != 1 {
				t.Errorf("while %q is erased, the other would lose %v", pair[0], second.Rows)
			}
		})
	}
}

// The key of a gateway acts for the user that a request names, whose workspace no other ID opens.
func TestUsersOfAGatewayAreToldApartByTheirIDs(t *testing.T) {
	t.Parallel()
	b := idle(t)
	key, _, err := b.App.Keys.CreateGateway(t.Context(), "open-webui", "webui", nil)
	testkit.Must(t, err)
	workspaceOf := func(person string) (out string) {
		t.Helper()
		var got struct{ Workspace string }
		b.do(request{path: "/v1/workspace", key: key, header: map[string]string{"X-Cairn-Person": person}}).
			into(http.StatusOK, &got)
		return got.Workspace
	}
	for kind, pair := range others {
		if kind == "trailing space" || kind == "leading space" {
			continue // HTTP trims the values of headers
		}
		if a, b := workspaceOf(pair[0]), workspaceOf(pair[1]); a == b {
			t.Errorf("%s: %q and %q share the workspace %q", kind, pair[0], pair[1], a)
		}
	}
	composed := "Amélie"
	if a, b := workspaceOf(composed), workspaceOf(norm.NFD.String(composed)); a != b {
		t.Errorf("one user has the workspaces %q and %q", a, b)
	}
}
