package evaluation

import (
	"math"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
)

// Estimate is the expected size of an evaluation before its first model call.
type Estimate struct {
	Calls      int   `json:"calls"`
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CostMicros int64 `json:"cost_micros,omitempty"`
	Priced     bool  `json:"priced"` // the price of the model is known
	Spans      int   `json:"spans"`  // that builds and trainings process
	Questions  int   `json:"questions"`
	Training   int   `json:"training_calls"` // part of Calls
}

// repairs is the expected number of requests per call: some replies do not have the form that was asked
// for, and are asked for again. With it, an estimate is right within 8 % for models that always obey and
// for those that fail to in one of seven replies.
const repairs = 1.08

// Tokens of the parts of a request that depend on the run, in the middle of what LoCoMo takes.
const (
	memoryTokens = 30 // one memory
	skillTokens  = 160
	actionTokens = 250 // the reply to a span
	replyTokens  = 30  // an answer or a verdict
	designTokens = 1200
	casesTokens  = 6000 // hard cases and the bank
)

// Calls of one round of the designer: an analysis, two critiques and the proposal.
const roundCalls = 4

// shape is the size of a conversation.
type shape struct{ spans, tokens, questions int }

// estimate computes the expected size. seed is the number of skills of the seed bank, banks is that of
// other banks by row.
func (s Spec) estimate(samples []Sample, banks map[string]int, prices llm.Prices) Estimate {
	shapes := map[string]shape{}
	for _, one := range samples {
		said, _ := guard.NewRedactor(guard.Options{}).Messages(memory.Dialogue(one.Messages))
		of := shape{questions: len(s.asked(one))}
		for _, span := range executor.Spans(said, s.Keeping.Spanning) {
			of.spans++
			of.tokens += llm.EstimateTokens(span.Text())
		}
		shapes[one.ID] = of
	}
	e := &estimator{spec: s}
	units, _ := s.units()
	for _, u := range units {
		switch u.Kind {
		case trainUnit:
			e.training(shapes, s)
		case selectUnit:
			e.build(shapes[u.Sample], s.Keeping.K)
		case testUnit:
			if u.Row != None {
				e.build(shapes[u.Sample], e.skills(u.Row, banks))
			}
			e.ask(shapes[u.Sample].questions, u.Row != None)
		}
	}
	out := Estimate{Calls: int(math.Round(e.calls * repairs)), Input: int64(e.input * repairs),
		Output: int64(e.output * repairs), Spans: e.spans, Questions: e.questions,
		Training: int(math.Round(e.trained * repairs))}
	model, known := prices.Cost(s.Model.Name, llm.Usage{Input: int((e.input - e.judged) * repairs),
		Output: int(e.output * repairs)})
	judge, priced := int64(0), true
	if s.Judge != "" {
		judge, priced = prices.Cost(s.Judge, llm.Usage{Input: int(e.judged * repairs)})
	}
	out.CostMicros, out.Priced = model+judge, known && priced
	return out
}

// estimator adds up calls and tokens.
type estimator struct {
	spec                                  Spec
	calls, input, output, judged, trained float64
	spans, questions                      int
}

// skills returns the number of skills in the prompt of a span.
func (e *estimator) skills(row string, banks map[string]int) int {
	seed, _ := seedBank()
	switch row {
	case Static:
		return len(memoryskill.Primitives())
	case All:
		return seed.Len()
	}
	if n, named := banks[row]; named {
		return min(n, e.spec.Keeping.K)
	}
	return e.spec.Keeping.K
}

// instructions returns the tokens of the system message of a stage with its schema.
func (e *estimator) instructions(stage prompt.Stage) float64 {
	return float64(llm.EstimateTokens(e.spec.Model.Instructions[bank.InstructionKey(stage, "en")]) +
		llm.EstimateTokens(string(prompt.Schema(stage))))
}

// build adds the calls of a build. Half of the memories of a prompt are there on average.
func (e *estimator) build(of shape, skills int) {
	n := float64(of.spans)
	e.calls += n
	e.spans += of.spans
	e.input += n*(e.instructions(prompt.Remember)+float64(skills*skillTokens+e.spec.Keeping.TopN*memoryTokens/2)) +
		1.3*float64(of.tokens)
	e.output += n * actionTokens
}

// ask adds the calls of questions.
func (e *estimator) ask(questions int, memories bool) {
	n, read := float64(questions), 0.0
	if memories {
		read = TopN * memoryTokens
	}
	e.calls, e.questions = e.calls+n, e.questions+questions
	e.input += n * (e.instructions(prompt.Recite) + read + replyTokens)
	e.output += n * replyTokens
	if e.spec.Judge != "" {
		judged := n * (e.instructions(prompt.Grade) + 3*replyTokens)
		e.calls, e.output = e.calls+n, e.output+n*replyTokens
		e.input, e.judged = e.input+judged, e.judged+judged
	}
}

// training adds the calls of a training. The seed determines which conversations it plays.
func (e *estimator) training(shapes map[string]shape, s Spec) {
	before, l := e.calls, s.Learning
	for stage := range l.Stages {
		for iteration := range l.Iterations {
			for n := range l.Episodes {
				draw := keyedrand.Key{Run: s.Seed, Stage: stage, Iteration: iteration, Episode: n,
					Purpose: "trace"}.Stream()
				of := shapes[s.Split.Train[draw.IntN(len(s.Split.Train))]]
				e.build(of, s.Keeping.K)
				if l.Score == bank.ByAnswer {
					asked := float64(of.questions)
					e.calls, e.output = e.calls+asked, e.output+asked*replyTokens
					e.input += asked * (e.instructions(prompt.Recite) + bank.ReadTokens)
				}
			}
		}
	}
	rounds := float64(l.Stages-1) * roundCalls
	e.calls += rounds
	e.input += rounds * (e.instructions(prompt.Diagnose) + casesTokens)
	e.output += rounds * designTokens
	e.trained += e.calls - before
}
