package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// The script: 30 messages in 3 sessions with two people, and 20 questions about places, work, dates,
// numbers and preferences. The third session contradicts the first and takes two things back.
type scriptSession struct {
	who   string
	at    time.Time
	lines []string // of the user and the assistant in turn
}

var scriptSessions = []scriptSession{
	{"Nora", time.Date(2026, 2, 2, 10, 0, 0, 0, time.UTC), []string{
		"Hi! I live in Lisbon and I work at Halden Shipping as a planner.", "Nice to meet you.",
		"My brother Luis is a baker. I am allergic to peanuts.", "I will keep that in mind.",
		"I drink coffee every morning. My favourite color is blue.", "Understood.",
		"My locker number is 4417. Next Thursday I see the dentist.", "Noted.",
		"I plan to run the Porto marathon in October 2026. I have two cats, Miso and Tofu.", "Great plans."}},
	{"Tomas", time.Date(2026, 2, 10, 18, 0, 0, 0, time.UTC), []string{
		"I live in Ghent and I teach physics at a high school.", "Welcome.",
		"I am a vegetarian. My favourite color is orange.", "Noted.",
		"My daughter Ema plays the cello. Her concert is on 14 April.", "Lovely.",
		"Yesterday I bought a red canoe for 850 euros.", "Have fun with it.",
		"Please always answer me in short sentences.", "Ok."}},
	{"Nora", time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC), []string{
		"I moved to Porto last week.", "How is it there?",
		"I quit my job at Halden Shipping. I joined Verdant Labs as a data engineer.", "Congratulations!",
		"I drink green tea instead of coffee. My favourite color is green.", "Noted.",
		"Forget my locker number. Please forget that my brother Luis is a baker.", "Forgotten.",
		"In three weeks I fly to Oslo. My new phone has the number 555-0199.", "Safe travels."}},
}

// scriptQuestion is a question with words that the answer has, and words that it must not have.
type scriptQuestion struct {
	who, query string
	want       []string // all of them, in one memory
	never      []string
}

var scriptQuestions = []scriptQuestion{
	{"Nora", "Where does Nora live now?", []string{"Porto"}, nil},
	{"Nora", "Where did Nora live before she moved?", []string{"Lisbon"}, nil},
	{"Nora", "What is her job? Which company does she work for?", []string{"Verdant Labs"}, nil},
	{"Nora", "Which job did she quit?", []string{"Halden"}, nil},
	{"Nora", "What does she drink?", []string{"green tea"}, nil},
	{"Nora", "What is her favourite color?", []string{"green"}, []string{"orange"}},
	{"Nora", "What is she allergic to?", []string{"peanuts"}, nil},
	{"Nora", "What is her locker number?", nil, []string{"4417"}},
	{"Nora", "What does her brother Luis do?", nil, []string{"baker"}},
	{"Nora", "When does she see the dentist?", []string{"2026-02-05"}, nil},
	{"Nora", "Which marathon does she plan to run?", []string{"Porto marathon", "October 2026"}, nil},
	{"Nora", "What are the names of her cats?", []string{"Miso", "Tofu"}, nil},
	{"Nora", "When does she fly to Oslo?", []string{"2026-05-25"}, nil},
	{"Nora", "What is her phone number?", []string{"555-0199"}, nil},
	{"Tomas", "Where does Tomas live?", []string{"Ghent"}, []string{"Porto"}},
	{"Tomas", "What does he teach?", []string{"physics"}, nil},
	{"Tomas", "What is his favourite color?", []string{"orange"}, []string{"green", "blue"}},
	{"Tomas", "When is the concert of his daughter?", []string{"14 April"}, nil},
	{"Tomas", "How much did the canoe cost?", []string{"850"}, nil},
	{"Tomas", "How should the assistant answer him?", []string{"short sentences"}, nil},
}

// play adds the sessions one after the other.
func play(b *apptest.Bundle) {
	b.T.Helper()
	for i, s := range scriptSessions {
		var messages []transcript.Message
		for n, m := range chat(s.lines...) {
			m.Time = s.at.Add(time.Duration(n) * time.Minute)
			messages = append(messages, m)
		}
		got := summarized(b, summarize(b, messages, about(s.who)).Ref)
		if got.Add != settings.AddFast || got.Status != memoryagent.OK || got.Usage.Attempts != 1 {
			b.T.Fatalf("session %d: %+v", i, got)
		}
	}
}

// rightAnswers returns the number of questions whose best three memories have the answer.
func rightAnswers(b *apptest.Bundle) (n int) {
	b.T.Helper()
	for _, q := range scriptQuestions {
		out, err := b.Progressive.Retrieve(b.T.Context(), memoryagent.Question{
			Workspace:    b.Workspace.ID,
			WorkspaceKey: b.Workspace.Key,
			Query:        q.query,
			Mode:         memoryagent.Fast,
			TopK:         3,
			Spec:         app.TurnSpec(b.Config),
			Targets:      []memory.Task{{Type: memory.Personal, Target: q.who}},
		})
		testkit.Must(b.T, err)
		found, wrong := len(q.want) == 0, ""
		for _, m := range out.Memories {
			text := m.Content
			for _, past := range m.Earlier {
				text += " (until " + past.ValidUntil.Format(time.DateOnly) + ": " + past.Content + ")"
			}
			if m.EventTime != nil {
				text += " " + m.EventTime.Format(time.DateOnly)
			}
			has := true
			for _, w := range q.want {
				has = has && strings.Contains(text, w)
			}
			found = found || has
			for _, w := range q.never {
				if strings.Contains(m.Content, w) {
					wrong = m.Content
				}
			}
		}
		if found && wrong == "" {
			n++
			continue
		}
		b.T.Logf("%s %s: found %t, wrong %q in %+v", q.who, q.query, found, wrong, contents(out))
	}
	return n
}

func contents(a memoryagent.Answer) (out []string) {
	for _, m := range a.Memories {
		out = append(out, fmt.Sprintf("%s %v", m.Content, m.Earlier))
	}
	return out
}

func TestTheOfflineModelRemembersTheScript(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.BaseURL, c.APIKey, c.Model = "", "", "" })
	play(b)
	n := rightAnswers(b)
	t.Logf("%d of %d questions are right", n, len(scriptQuestions))
	if n < 14 {
		t.Errorf("%d of %d questions are right, want 14", n, len(scriptQuestions))
	}
}

// scriptFacts are the replies of a model to the three sessions. An update and a delete name the memory by a
// part of its text, which becomes its handle.
var scriptFacts = [][]scriptFact{
	{{"add", "", "Nora lives in Lisbon.", "", 0}, {"add", "", "Nora works at Halden Shipping as a planner.", "", 0},
		{"add", "", "Nora's brother Luis is a baker.", "", 2}, {"add", "", "Nora is allergic to peanuts.", "", 2},
		{"add", "", "Nora drinks coffee every morning.", "", 4}, {"add", "", "Nora's favourite color is blue.", "", 4},
		{"add", "", "Nora's locker number is 4417.", "", 6},
		{"add", "", "Nora sees the dentist on Thursday, 2026-02-05.", "2026-02-05", 6},
		{"add", "", "Nora plans to run the Porto marathon in October 2026.", "2026-10", 8},
		{"add", "", "Nora has two cats with the names Miso and Tofu.", "", 8}},
	{{"add", "", "Tomas lives in Ghent.", "", 0}, {"add", "", "Tomas teaches physics at a high school.", "", 0},
		{"add", "", "Tomas is a vegetarian.", "", 2}, {"add", "", "Tomas's favourite color is orange.", "", 2},
		{"add", "", "The cello concert of Tomas's daughter Ema is on 14 April 2026.", "2026-04-14", 4},
		{"add", "", "Tomas bought a red canoe; it cost 850 euros.", "2026-02-09", 6},
		{"add", "", "Tomas wants the assistant to answer in short sentences.", "", 8}},
	{{"update", "Lisbon", "Nora lives in Porto.", "2026-04-27", 0},
		{"update", "Halden", "Nora works at Verdant Labs as a data engineer; her job is new.", "", 2},
		{"update", "coffee", "Nora drinks green tea instead of coffee.", "", 4},
		{"update", "color", "Nora's favourite color is green.", "", 4}, {"delete", "4417", "", "", 6},
		{"delete", "baker", "", "", 6}, {"add", "", "Nora flies to Oslo on 2026-05-25.", "2026-05-25", 8},
		{"add", "", "Nora's phone number is 555-0199.", "", 8}},
}

type scriptFact struct {
	op, of, content, at string
	evidence            int
}

func TestAScriptedModelRemembersTheScript(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	session := 0
	factsOf(b, func(m prompt.Material) any {
		out := []object{}
		for _, f := range scriptFacts[session] {
			one := object{"op": f.op, "handle": nil, "content": f.content, "type": "fact", "event_time": nil,
				"evidence": []int{f.evidence}, "about": m.Subject}
			if f.at != "" {
				one["event_time"] = f.at
			}
			for _, s := range m.Stored {
				if f.of != "" && strings.Contains(s.Content, f.of) {
					one["handle"] = s.Handle
				}
			}
			out = append(out, one)
		}
		session++
		return object{"facts": out, "digest": fmt.Sprintf("Session %d with %s.", session, m.Subject)}
	})
	play(b)
	n := rightAnswers(b)
	t.Logf("%d of %d questions are right", n, len(scriptQuestions))
	if n < 18 {
		t.Errorf("%d of %d questions are right, want 18", n, len(scriptQuestions))
	}
}
