package client_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// noMethod are the operations without a method: what people do at the command line or in the web console, and what
// other protocols use.
var noMethod = strings.Fields(`
addSchedule adoptSkill archiveSkill backfillSchedule cancelReembed cancelTurn copyMemories
curateSkills deleteMemories describeTarget diffBank diffVersions dumpMemories endConversation
eraseConversation eraseSubject eraseWorkspace estimateReembed exportBank exportTraces followBank
health import importBank importSessions listBankPrompts listBankVersions listBanks listImports
listPolicyUpdates listProbes listReflections listSchedules listSkills listTargets listVersions
loadMemories packageOfSkill packageOfVersion pauseReembed pauseSchedule pinSkill ready reflect
rejectInboxItem releaseSkill removeSchedule reparseImport resetBankPrompt restoreSkill resumeReembed
resumeSchedule retryRun rollbackBank rollbackSkill rollbackSoul runEvents setBankPrompt showErasure
showInsights showReembed showReflection showRun showSchedule showSkill showSoul showTurn showVersion
showWorkspace soulHistory startReembed stateOutcome triggerSchedule trustSkill updateSoul
uploadSkill useSkill voteSkill`)

// operations are those of the HTTP API, and which of them the client has sent.
type operations struct {
	mux  *http.ServeMux // of the patterns alone
	ids  map[string]string
	mu   sync.Mutex
	sent map[string]bool
}

var sent = sync.OnceValue(func() *operations {
	var doc struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}
	raw, err := os.ReadFile("../../schemas/openapi.json")
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		panic(err)
	}
	out := &operations{mux: http.NewServeMux(), ids: map[string]string{}, sent: map[string]bool{}}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			pattern := strings.ToUpper(method) + " " + path
			out.mux.Handle(pattern, http.NotFoundHandler())
			out.ids[pattern] = o.ID
		}
	}
	return out
})

// watch notes the operations that are sent to a handler.
func (o *operations) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := o.mux.Handler(r); pattern != "" {
			o.mu.Lock()
			o.sent[o.ids[pattern]] = true
			o.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// complete reports whether each operation was sent, except those of noMethod. It holds for a run of all tests.
func (o *operations) complete() (ok bool) {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	ok = true
	for _, id := range slices.Sorted(maps.Values(o.ids)) {
		if without := slices.Contains(noMethod, id); !without && !o.sent[id] {
			fmt.Printf("FAIL: no test of the client sends %s; add a method, or name it in noMethod\n", id)
			ok = false
		} else if without && o.sent[id] {
			fmt.Printf("FAIL: the client sends %s; remove it from noMethod\n", id)
			ok = false
		}
	}
	return ok
}
