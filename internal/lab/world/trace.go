package world

import (
	"fmt"
	"time"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation"
)

// dims is the length of the vectors for comparing memories.
const dims = 128

// trace is a conversation that is parsed once for all its episodes.
type trace struct {
	id        string
	how       executor.Spanning // how sessions are split
	shape     policy.Shape      // how the policy fuses the memories near a span
	spans     []span
	questions []question
	tokens    int
	texts     []string // of the spans
}

type span struct {
	seqs   []int
	heard  []memoryrules.Heard
	vector []float32
	seen   []float64 // as the policy sees it
}

type question struct {
	key, text string
	gold      string
	any       []string // all correct answers, including gold; may be empty
	choices   []string // the answer is one of these
	task      string   // task of which the question is a step
	parts     bool     // the answer is a list
	tool      bool     // about a tool log
	terms     []lexical.Term
	evidence  []passage
	wanted    evaluation.Bag // words of the answer that the evidence contains
}

type passage struct {
	seq  int
	text string
	bag  evaluation.Bag
}

// shown returns a message as a model sees it.
func shown(m transcript.Message, text string) string {
	if m.Time.IsZero() {
		return text
	}
	return m.Time.UTC().Format("[2006-01-02 15:04] ") + text
}

// ofLocomo reads a conversation with its answerable questions.
func ofLocomo(s evaluation.LocomoSample, o Options) (*trace, error) {
	t, err := o.trace(s.ID)
	if err != nil {
		return nil, err
	}
	if err := t.read(s.Conversation.Messages); err != nil {
		return nil, err
	}
	for i, q := range s.Questions {
		if q.Category != evaluation.Adversarial {
			t.ask(s.Conversation.Messages, fmt.Sprintf("%s/%d", s.ID, i), q.Text, q.Answer, q.Evidence)
			if n := len(t.questions); n > 0 && q.Category == evaluation.MultiHop {
				t.questions[n-1].parts = true
			}
		}
	}
	return t, nil
}

// read splits the messages into spans, which do not cross sessions: all messages of a session have
// the same time.
func (t *trace) read(messages []transcript.Message) error {
	var session []transcript.Message
	cut := func() error {
		for _, s := range executor.Spans(session, Options{Spans: t.how}.spanning()) {
			one := span{}
			var read []prompt.Message
			for _, p := range s.Parts {
				one.seqs = append(one.seqs, p.Seq)
				read = append(read, prompt.Message{Index: p.Seq, Role: p.Role, Name: p.Speaker,
					Content: shown(transcript.Message{Time: p.Time}, p.Text)})
			}
			one.heard = memoryrules.Hear(read)
			one.vector = lexical.Vector(s.Text(), dims)
			one.seen = folded(one.vector)
			t.spans, t.texts = append(t.spans, one), append(t.texts, s.Text())
		}
		session = nil
		return nil
	}
	var at time.Time
	var role transcript.Role
	for _, m := range messages {
		tool := m.Role == transcript.Tool
		if len(session) > 0 && (!m.Time.Equal(at) || tool != (role == transcript.Tool)) {
			if err := cut(); err != nil {
				return err
			}
		}
		at, role = m.Time, m.Role
		session = append(session, m)
		t.tokens += llm.EstimateTokens(m.Content)
	}
	return cut()
}

// folded returns a vector in the form that the policy uses.
func folded(v []float32) []float64 { return policy.Fold(v, memoryskill.PolicyDims) }

// ask adds a question, unless its evidence contains no word of the answer, so that reading could
// not find it.
func (t *trace) ask(messages []transcript.Message, key, text, gold string, evidence []int) {
	q := question{key: key, text: text, gold: gold, terms: lexical.Terms(text)}
	all := evaluation.Bag{}
	for _, seq := range evidence {
		m := messages[seq]
		p := passage{seq: seq, text: m.Name + ": " + m.Content, bag: evaluation.Content(m.Content)}
		q.evidence = append(q.evidence, p)
		for w := range p.bag {
			all[w] = true
		}
	}
	if q.wanted = evaluation.Content(gold).And(all); len(q.wanted) > 0 {
		t.questions = append(t.questions, q)
	}
}
