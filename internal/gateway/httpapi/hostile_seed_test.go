package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/skill"
	"cairn/internal/testkit"
)

// sampleBodies are bodies that an operation accepts, or refuses late. $n becomes another number in each request.
var sampleBodies = map[string]string{
	"turn":             `{"conversation":"c1","message_id":"m$n","text":"Hello, I am Ada.","wait":0}`,
	"distill":          `{"messages":[{"role":"user","content":"Water $n?"},{"role":"assistant","content":"So."}]}`,
	"giveFeedback":     `{"conversation":"c1","message_id":"m0","rating":"up"}`,
	"addMemory":        `{"content":"Ada likes tea $n","memory_type":"personal","memory_target":"ada"}`,
	"addMemories":      `{"memories":[{"content":"Ada likes tea $n","memory_type":"personal","memory_target":"ada"}]}`,
	"copyMemories":     `{"from_key":"cairn_0000000000000000000000000000000000000000000"}`,
	"updateMemory":     `{"content":"Ada likes coffee $n"}`,
	"startReembed":     `{"rate":1}`,
	"reflect":          `{"date":"2026-01-02"}`,
	"retrieveMemory":   `{"query":"What does Ada like?","wait":0,"deadline_ms":1000}`,
	"summaryMemory":    `{"messages":[{"role":"user","content":"I am Ada $n."}],"wait":0}`,
	"addSchedule":      `{"name":"task-$n","cron":"@daily","prompt":"Say hello."}`,
	"backfillSchedule": `{"from":"2026-01-01","until":"2026-01-02"}`,
	"changeSettings":   `{"time_zone":"UTC"}`,
	"uploadSkill":      `{"url":"https://127.0.0.1/a.zip"}`,
	"pinSkill":         `{"pinned":true}`,
	"rollbackSkill":    `{"to":1}`,
	"useSkill":         `{"use_id":"u$n"}`,
	"updateSoul":       `{"content":"Be brief $n."}`,
	"rollbackSoul":     `{"version":1}`,
	"describeTarget":   `{"description":"A person"}`,
	"followBank":       `{}`,
	"importBank":       `{"files":{"bank.json":"{}"}}`,
	"rollbackBank":     `{"to":1}`,
	"grepContent":      `{"pattern":"a"}`,
	"readContent":      `{"handle":"h"}`,
	"reloadMessages":   `{"messages":[{"role":"user","content":"Hello."}]}`,
	"offloadMessages":  `{"messages":[{"role":"user","content":"Hello."}],"mode":"compact","wait":0}`,
	"loadMemories":     ``,
	"callTool":         `{}`,
}

// place is a workspace with a conversation, a memory, a skill and a schedule.
type place struct {
	*hostile
	t         *testing.T
	key       string
	workspace int64
	address   string // of the client: each place has its own, for the limit of bad keys
	wire      *wire
	ids       map[string]string
	numbers   int
	before    map[string]string // rows, nil after a request that may have changed them
}

// settle makes a workspace with something in it for each path.
func (h *hostile) settle(t *testing.T, name string) *place {
	t.Helper()
	ws, err := h.Store.Workspace(t.Context(), name, true)
	testkit.Must(t, err)
	n := h.places.Add(1)
	p := &place{hostile: h, t: t, workspace: ws.ID, address: fmt.Sprintf("10.1.%d.%d", n/250, n%250+1),
		wire: &wire{address: h.address}, ids: map[string]string{
			"banks":         "default",
			"erasures":      "1",
			"requests":      "r1",
			"conversations": "c1",
			"message_id":    "m0",
			"schedules":     "task-0",
			"skills":        "water-plants",
			"n":             "1",
			"target":        "ada",
			"type":          "personal",
			"date":          "2026-01-02",
		}}
	p.key = h.makeKey(ws, access.Admin)
	var turn struct {
		Links struct{ Run string }
	}
	p.seed("/v1/turns", strings.ReplaceAll(sampleBodies["turn"], "$n", "0"), &turn)
	p.ids["runs"] = turn.Links.Run[strings.LastIndex(turn.Links.Run, "/")+1:]
	var memory struct{ ID json.Number }
	p.seed("/v1/memories", strings.ReplaceAll(sampleBodies["addMemory"], "$n", "0"), &memory)
	p.ids["memories"] = memory.ID.String()
	p.seed("/v1/schedules", strings.ReplaceAll(sampleBodies["addSchedule"], "$n", "0"), nil)
	var uploaded struct{ Skill struct{ ID int64 } }
	p.seed("/v1/skills/upload", h.archive, &uploaded)
	p.ids["item"] = fmt.Sprintf("s%d", uploaded.Skill.ID)
	var waiting struct{ SHA string }
	p.look("/v1/inbox/"+p.ids["item"], &waiting)
	p.seed("/v1/inbox/"+p.ids["item"]+"/approve", fmt.Sprintf(`{"sha":%q}`, waiting.SHA), nil)
	return p
}

func waterPlants() (string, error) {
	markdown := "---\nname: water-plants\ndescription: Water the plants of an office\n---\n\n## Procedure\n\n1. Fill.\n"
	archive, err := skill.Zip("water-plants", []byte(markdown), nil)
	return string(archive), err
}

// seed sends a request that must succeed.
func (p *place) seed(path, body string, into any) {
	kind := "application/json"
	if strings.HasSuffix(path, "upload") {
		kind = "application/zip"
	}
	p.send(shot{method: http.MethodPost, target: path, header: p.headers(kind), body: []byte(body)}, into)
}

// look reads a resource that settle has made.
func (p *place) look(path string, into any) {
	p.send(shot{method: http.MethodGet, target: path, header: p.headers("application/json")}, into)
}

func (p *place) send(s shot, into any) {
	status, _, raw, err := p.wire.send(s)
	testkit.Must(p.t, err)
	if status >= http.StatusBadRequest {
		p.t.Fatalf("%s: status %d: %s", s.target, status, raw)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			p.t.Fatalf("%s: %v in %s", s.target, err, raw)
		}
	}
}

func (p *place) headers(kind string) [][2]string {
	out := [][2]string{{"Authorization", "Bearer " + p.key}, {"X-Forwarded-For", p.address}}
	if kind != "" {
		out = append(out, [2]string{"Content-Type", kind})
	}
	return out
}

// next replaces $n by a new number.
func (p *place) next(body []byte) []byte {
	p.numbers++
	return []byte(strings.ReplaceAll(string(body), "$n", strconv.Itoa(p.numbers)))
}

// parameterValue is the value of a path parameter that leads to something.
func (p *place) parameterValue(op *operation, name string) string {
	switch {
	case op.tool != "" && name == "name":
		return op.tool
	case op.ID == "endConversation" || op.ID == "cancelTurn":
		return "c0" // that of another conversation would wait for a worker, and none runs
	case name == "name":
		return p.ids["banks"]
	case name == "id":
		return p.ids[strings.Split(op.path, "/")[2]]
	}
	return p.ids[name]
}
