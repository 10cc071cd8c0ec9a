package evaluation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// Data sets.
const (
	LoCoMo      = "locomo"
	LongMemEval = "longmemeval"
	HotpotQA    = "hotpotqa"
	ALFWorld    = "alfworld"
)

// Datasets lists the data sets.
var Datasets = []string{LoCoMo, LongMemEval, HotpotQA, ALFWorld}

// Forms of answers, which decide how they are scored.
const (
	PlainForm  = ""       // a short text
	PartsForm  = "parts"  // a comma-separated list
	ChoiceForm = "choice" // one of Choices
)

// Sample is a conversation with its questions. A history of LongMemEval, the paragraphs of a HotpotQA
// question and the trajectories of an ALFWorld task type are conversations, too.
type Sample struct {
	ID        string               `json:"id"`
	Messages  []transcript.Message `json:"messages"`
	Questions []Question           `json:"questions"`
}

// Question is a question with known answers.
type Question struct {
	ID       string   `json:"id"`
	Text     string   `json:"question"`
	Gold     []string `json:"gold"` // correct answers; any is sufficient
	Category string   `json:"category"`
	Evidence []int    `json:"evidence,omitempty"` // messages with the answer; empty if unknown
	Form     string   `json:"form,omitempty"`
	Choices  []string `json:"choices,omitempty"`
}

// Data are the samples of a file.
type Data struct {
	Dataset string
	SHA     string // SHA-256 of the file
	Samples []Sample
	LeftOut int // questions that are not asked: adversarial ones, and those without an answer
}

// Open reads a file of a data set.
func Open(dataset, path string) (Data, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Data{}, fault.Wrap(err, fault.InvalidArgument, "cannot open the data file",
			"pass the path of a file of the data set with --data")
	}
	return Read(dataset, string(raw))
}

// Read reads the content of a file of a data set.
func Read(dataset, content string) (out Data, err error) {
	sum := sha256.Sum256([]byte(content))
	out = Data{Dataset: dataset, SHA: hex.EncodeToString(sum[:])}
	read, known := readers[dataset]
	if !known {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown data set %q", dataset),
			"use "+strings.Join(Datasets, ", "))
	}
	if err := read(strings.NewReader(content), &out); err != nil {
		return out, fault.Wrap(err, fault.InvalidArgument, "cannot read the data as "+dataset,
			"pass a file of this data set, or name its data set with --dataset")
	}
	for i := range out.Samples {
		for n := range out.Samples[i].Messages {
			out.Samples[i].Messages[n].Seq = n
		}
	}
	if len(out.Samples) == 0 {
		return out, fault.New(fault.InvalidArgument, "the data has no conversation with a question that can be asked",
			"use a larger file")
	}
	return out, nil
}

var readers = map[string]func(in *strings.Reader, out *Data) error{LoCoMo: readLoCoMo,
	LongMemEval: readLongMemEval, HotpotQA: readHotpotQA, ALFWorld: readALFWorld}

// locomoCategories names the categories of LoCoMo.
var locomoCategories = map[int]string{MultiHop: "multi-hop", Temporal: "temporal",
	OpenDomain: "open-domain", SingleHop: "single-hop"}

// readLoCoMo leaves out adversarial questions, like the published scores. The official script compares
// the lists of multi-hop answers part by part, and only the first part of open-domain answers.
func readLoCoMo(in *strings.Reader, out *Data) error {
	talks, err := ReadLocomo(in)
	for _, t := range talks {
		one := Sample{ID: t.ID, Messages: t.Conversation.Messages}
		for i, q := range t.Questions {
			gold := q.Answer
			if q.Category == OpenDomain {
				gold, _, _ = strings.Cut(gold, ";")
			}
			if gold = strings.TrimSpace(gold); q.Category == Adversarial || gold == "" {
				out.LeftOut++
				continue
			}
			asked := Question{ID: strconv.Itoa(i + 1), Text: q.Text, Gold: []string{gold},
				Category: locomoCategories[q.Category], Evidence: q.Evidence}
			if q.Category == MultiHop {
				asked.Form = PartsForm
			}
			one.Questions = append(one.Questions, asked)
		}
		out.add(one)
	}
	return err
}

// readLongMemEval leaves out questions that the history does not answer, like the published scores.
func readLongMemEval(in *strings.Reader, out *Data) error {
	all, err := ReadLongMemEval(in)
	for _, s := range all {
		if s.Unanswerable() || strings.TrimSpace(s.Answer) == "" {
			out.LeftOut++
			continue
		}
		q := Question{ID: s.ID, Text: s.Question, Gold: []string{s.Answer}, Category: s.Kind, Evidence: s.Evidence}
		if !s.Asked.IsZero() {
			q.Text = fmt.Sprintf("(Today is %s.) %s", s.Asked.Format("2006-01-02"), s.Question)
		}
		out.add(Sample{ID: s.ID, Messages: s.Conversation.Messages, Questions: []Question{q}})
	}
	return err
}

func readHotpotQA(in *strings.Reader, out *Data) error {
	all, err := ReadHotpotQA(in)
	for _, s := range all {
		one := Sample{ID: s.ID, Questions: []Question{{ID: s.ID, Text: s.Question, Gold: s.Answers,
			Category: "question", Evidence: s.Evidence}}}
		for _, p := range s.Paragraphs {
			one.Messages = append(one.Messages,
				transcript.Message{Role: transcript.User, Name: p.Title, Content: p.Title + "\n" + p.Text})
		}
		out.add(one)
	}
	return err
}

// rememberedShare is the share of the trajectories of a task type, the first ones, that become its
// conversation. The later ones are replayed if they succeeded.
const rememberedShare = 2.0 / 3

// readALFWorld makes a conversation of each task type. Each action of a later trajectory is a question:
// which of its actions comes next. There is no environment.
func readALFWorld(in *strings.Reader, out *Data) error {
	all, err := ReadAlfworld(in)
	byType := map[string][]Trajectory{}
	var types []string
	for _, t := range all {
		if byType[t.Type] == nil {
			types = append(types, t.Type)
		}
		byType[t.Type] = append(byType[t.Type], t)
	}
	for _, name := range types {
		of := byType[name]
		kept := int(rememberedShare*float64(len(of)) + .5)
		one := Sample{ID: name}
		for _, t := range of[:kept] {
			one.Messages = append(one.Messages,
				transcript.Message{Role: transcript.Tool, Name: t.ID, Content: t.Text()})
		}
		for _, t := range of[kept:] {
			if !*t.Success {
				out.LeftOut++
				continue
			}
			one.Questions = append(one.Questions, replayed(one.Messages, t)...)
		}
		out.add(one)
	}
	return err
}

// replayed asks for each action of a trajectory. Its evidence are the stored trajectories that contain
// it.
func replayed(stored []transcript.Message, t Trajectory) (out []Question) {
	var actions []string
	for _, step := range t.Steps {
		if !slices.Contains(actions, step.Action) {
			actions = append(actions, step.Action)
		}
	}
	seen := t.Observation
	for i, step := range t.Steps {
		q := Question{ID: fmt.Sprintf("%s/%d", t.ID, i), Gold: []string{step.Action}, Category: t.Type,
			Form: ChoiceForm, Choices: actions, Text: fmt.Sprintf(
				"Task: %s\nObservation: %s\nWhich action comes next: %s?", t.Task, seen, strings.Join(actions, "; "))}
		for n, m := range stored {
			if strings.Contains(m.Content, "Action: "+step.Action+"\n") {
				q.Evidence = append(q.Evidence, n)
			}
		}
		out = append(out, q)
		seen = step.Observation
	}
	return out
}

// add adds a sample that has messages and questions.
func (d *Data) add(s Sample) {
	if len(s.Messages) > 0 && len(s.Questions) > 0 {
		d.Samples = append(d.Samples, s)
	} else {
		d.LeftOut += len(s.Questions)
	}
}

// Score returns the F1 and the exact match of an answer, 0 to 1.
func (q Question) Score(dataset, answer string) (f1, exact float64) {
	if q.Form == ChoiceForm {
		if slices.Contains(q.Gold, Choose(answer, q.Choices)) {
			return 1, 1
		}
		return 0, 0
	}
	if dataset == HotpotQA {
		answer = HotpotQAAnswer(answer)
	}
	for _, gold := range q.Gold {
		one := F1(answer, gold)
		if q.Form == PartsForm {
			one = F1Parts(answer, gold)
		}
		f1 = max(f1, one)
		if n := Normalize(gold); n != "" && n == Normalize(answer) {
			exact = 1
		}
	}
	return f1, exact
}
