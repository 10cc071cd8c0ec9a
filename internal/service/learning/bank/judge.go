package bank

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/ledger"
)

// Judge scores answers by words or with a model. It implements judge.Judge.
type Judge struct{ Asker Asker }

// Judge answers and scores one question. If the endpoint fails, the question is not scored.
func (j Judge) Judge(ctx context.Context, in designer.JudgeInput) (v designer.JudgeVerdict, err error) {
	if in.Score != designer.ByAnswer && in.Score != designer.ByGrade {
		v.Prediction = strings.Join(in.Retrieved, "\n")
		return designer.JudgeVerdict{Score: Recall(in.Gold, v.Prediction), Scored: true, Prediction: v.Prediction}, nil
	}
	made, err := j.ask(ctx, in, Question{Step: in.Step, Stage: prompt.Recite, Lang: in.Lang,
		Material: prompt.Material{Question: in.Question, Memories: in.Retrieved, Language: in.Lang},
		Decode: func(text string) (err error) {
			v.Prediction, err = decodeAnswer(text)
			return err
		}})
	if err != nil || !made {
		return v, err
	}
	if in.Score == designer.ByAnswer || v.Prediction == "" { // no answer is a wrong one
		v.Score, v.Scored = overlap(in.Gold, v.Prediction), true
		return v, nil
	}
	cases, err := json.Marshal([]map[string]any{{"gold": in.Gold, "prediction": v.Prediction}})
	if err != nil {
		return v, err
	}
	v.Scored, err = j.ask(ctx, in, Question{Step: in.Step + "/grade", Stage: prompt.Grade, Lang: in.Lang,
		Material: prompt.Material{Question: in.Question, Cases: cases, Language: in.Lang},
		Decode: func(text string) (err error) {
			v.Score, err = decodeGrade(text)
			return err
		}})
	return v, err
}

// ask makes a model call. It returns false if the endpoint failed, or its reply was unusable.
func (j Judge) ask(ctx context.Context, in designer.JudgeInput, q Question) (made bool, err error) {
	text, problem, err := Ask(ctx, j.Asker, in.Model, in.Ref, q)
	if _, over := ledger.IsPermanent(err); over || problem != nil || text == "" && err == nil {
		return false, nil //nolint:nilerr // an unusable reply has no score
	}
	return err == nil, err
}

func decodeAnswer(text string) (string, error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return "", err
	}
	var reply struct{ Answer string }
	if json.Unmarshal(raw, &reply) != nil {
		return "", errors.New("answer with one JSON object that has answer")
	}
	return reply.Answer, nil
}

func decodeGrade(text string) (float64, error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return 0, err
	}
	reply := struct{ Score *float64 }{}
	if json.Unmarshal(raw, &reply) != nil || reply.Score == nil ||
		*reply.Score != 0 && *reply.Score != 0.5 && *reply.Score != 1 {
		return 0, errors.New("answer with one JSON object whose score is 0, 0.5 or 1")
	}
	return *reply.Score, nil
}
