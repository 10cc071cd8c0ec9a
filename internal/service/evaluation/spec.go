package evaluation

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/bank"
)

// Rows of the table.
const (
	None           = "none"            // no memories: the answer of the model alone
	Static         = "static"          // the four primitives, all for every span
	All            = "all"             // all skills of the seed bank for every span
	Random         = "random"          // K skills of the seed bank, another draw for each span
	BestFixed      = "best-fixed"      // the set of K skills that is best on the validation conversations
	RefineOnly     = "refine-only"     // trained policy, and a designer that may only refine skills
	Evolved        = "evolved"         // the bank of the designer, another K skills drawn for each span
	EvolvedLearned = "evolved+learned" // the bank of the designer and the trained policy
)

// Rows lists the rows in the order of the table. A row "bank NAME@VERSION" uses an existing bank.
var Rows = []string{None, Static, All, Random, BestFixed, RefineOnly, Evolved, EvolvedLearned}

var bankRow = regexp.MustCompile(`^bank ([A-Za-z0-9_.-]{1,64})@([1-9][0-9]{0,8})$`)

// bankOf returns the bank that a row names.
func bankOf(row string) (name string, version int, ok bool) {
	m := bankRow.FindStringSubmatch(row)
	if m == nil {
		return "", 0, false
	}
	version, err := strconv.Atoi(m[2])
	return m[1], version, err == nil
}

// Learning configures the trainings of the rows that learn.
type Learning struct {
	Stages     int    `json:"stages"`
	Iterations int    `json:"iterations"` // per stage
	Episodes   int    `json:"episodes"`   // per iteration
	Recipe     string `json:"recipe"`
	Score      string `json:"score"` // recall or answer
}

// Defaults of an evaluation. The trainings are much shorter than the published ones (10 stages of 100
// iterations of 4 episodes), which take hundreds of thousands of calls.
const (
	DefaultSplit      = "6/2/2"
	DefaultSeed       = "42"
	DefaultK          = settings.DefaultK
	DefaultParallel   = 4
	DefaultSets       = 4
	DefaultStages     = 2
	DefaultIterations = 3
	DefaultEpisodes   = 2
	TopN              = 20 // memories that answer a question
)

// Spec is the manifest of an evaluation: everything that determines its results.
type Spec struct {
	bank.RunSpec
	Dataset  string            `json:"dataset"`
	DataSHA  string            `json:"data_sha256"`
	Samples  int               `json:"conversations"` // of the file
	Split    Split             `json:"split"`
	Rows     []string          `json:"rows"`
	Judge    string            `json:"judge,omitempty"` // model of the judge; empty disables judging
	Seed     string            `json:"seed"`
	Keeping  bank.SpanOptions  `json:"keeping"`
	Limit    int               `json:"limit,omitempty"` // questions of a conversation; 0 means all
	Sets     int               `json:"sets"`            // fixed sets that are compared
	Learning Learning          `json:"learning"`
	Embedder string            `json:"embedder"`
	Revision string            `json:"revision,omitempty"` // of the program
	Prompts  map[string]string `json:"prompts"`            // hash of the instructions, by "stage.language"
	Bank     string            `json:"bank"`               // hash of the seed bank
	Estimate Estimate          `json:"estimate"`
}

// Request is a request to measure.
type Request struct {
	Workspace int64 // of the banks that rows name
	Data      Data
	Split     Split
	ID        string   // of the evaluation; empty derives it from the manifest
	Rows      []string // empty means all
	Parallel  int      // units at once; 0 means DefaultParallel
	MaxCost   int64    // in micro-dollars; 0 means no limit
	Spec
}

// stages are the prompts of an evaluation.
var stages = []prompt.Stage{prompt.Remember, prompt.Recite, prompt.Grade, prompt.Diagnose, prompt.Propose}

// withDefaults sets missing options and validates them.
func (r Request) withDefaults() (Spec, error) {
	s := r.Spec
	s.Dataset, s.DataSHA, s.Samples, s.Split = r.Data.Dataset, r.Data.SHA, len(r.Data.Samples), r.Split
	if err := s.Split.check(r.Data.Samples); err != nil {
		return s, err
	}
	if s.Rows = r.Rows; len(s.Rows) == 0 {
		s.Rows = Rows
	}
	s.Seed, s.Sets = cmp.Or(s.Seed, DefaultSeed), cmp.Or(s.Sets, DefaultSets)
	s.Keeping = s.Keeping.WithDefaults()
	s.Keeping.K = cmp.Or(s.Keeping.K, DefaultK)
	if err := s.Keeping.Check(); err != nil {
		return s, err
	}
	l := &s.Learning
	l.Stages, l.Iterations, l.Episodes = cmp.Or(l.Stages, DefaultStages), cmp.Or(l.Iterations, DefaultIterations),
		cmp.Or(l.Episodes, DefaultEpisodes)
	l.Recipe, l.Score = cmp.Or(l.Recipe, "target"), cmp.Or(l.Score, bank.ByRecall)
	if err := s.check(); err != nil {
		return s, err
	}
	return s, s.render()
}

// render renders the instructions and their hashes.
func (s *Spec) render() (err error) {
	if s.Model, err = s.Model.WithInstructions(); err != nil {
		return err
	}
	s.Prompts = map[string]string{}
	for _, stage := range stages {
		for _, lang := range []string{"en", "zh"} {
			text, err := prompt.Instructions(stage, lang)
			if err != nil {
				return fmt.Errorf("render the instructions of %s in %s: %w", stage, lang, err)
			}
			key := bank.InstructionKey(stage, lang)
			s.Model.Instructions[key], s.Prompts[key] = text, prompt.Hash(text)
		}
	}
	return nil
}

// check validates the options.
func (s *Spec) check() error {
	for i, row := range s.Rows {
		_, _, named := bankOf(row)
		if !named && !slices.Contains(Rows, row) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown row %q", row),
				"use "+strings.Join(Rows, ", ")+` or "bank NAME@VERSION"`)
		}
		if slices.Contains(s.Rows[:i], row) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("repeated row %q", row), "name each row once")
		}
	}
	if s.learns() && len(s.Split.Train) == 0 {
		return fault.New(fault.InvalidArgument, "the split has no conversation to learn from",
			"use another --split, or leave out the rows refine-only, evolved and evolved+learned")
	}
	l := s.Learning
	for _, n := range []int{l.Stages, l.Iterations, l.Episodes, s.Sets} {
		if n < 1 || n > 10_000 {
			return fault.Newf(fault.InvalidArgument, "invalid number %d: must be 1 to 10,000", n)
		}
	}
	if l.Score != bank.ByRecall && l.Score != bank.ByAnswer {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown score %q", l.Score),
			"use "+bank.ByRecall+" or "+bank.ByAnswer)
	}
	if s.Limit < 0 {
		return fault.Newf(fault.InvalidArgument, "invalid number of questions %d: must be 0 or more", s.Limit)
	}
	if s.Judge != "" && s.Judge == llm.OfflineModel {
		s.Judge = "" // the rules do not judge
	}
	return nil
}

// has reports whether the table has a row.
func (s Spec) has(row string) bool { return slices.Contains(s.Rows, row) }

// learns reports whether a row needs a training.
func (s Spec) learns() bool { return s.has(RefineOnly) || s.has(Evolved) || s.has(EvolvedLearned) }

// key identifies the evaluation. It does not depend on what cannot change the results.
func (s Spec) key() string {
	s.Timing, s.Estimate, s.Model.Instructions, s.Revision = bank.Timing{}, Estimate{}, nil, ""
	raw, _ := json.Marshal(s)
	return fmt.Sprintf("%x", sha256.Sum256(raw))[:16]
}

// asked returns the questions of a sample that are asked: with a limit, those at equal distances, so
// that every part of the list is asked.
func (s Spec) asked(of Sample) []Question {
	n := len(of.Questions)
	if s.Limit == 0 || n <= s.Limit {
		return of.Questions
	}
	out := make([]Question, s.Limit)
	for i := range out {
		out[i] = of.Questions[i*n/s.Limit]
	}
	return out
}
