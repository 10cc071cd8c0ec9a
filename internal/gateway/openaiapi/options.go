package openaiapi

import (
	"bytes"
	"cmp"
	"encoding/json"

	"cairn/internal/domain/llm"
	"cairn/internal/service/agentrun"
)

// options pins the options of the model call.
func (in chatRequest) options(spec *agentrun.Spec) (err error) {
	for _, o := range []number{{"temperature", in.Temperature, 0, 2}, {"top_p", in.TopP, 0, 1},
		{"frequency_penalty", in.FrequencyPenalty, -2, 2}, {"presence_penalty", in.PresencePenalty, -2, 2}} {
		if err := o.check(); err != nil {
			return err
		}
	}
	if err := limitReply(spec, "max_tokens", cmp.Or(in.MaxCompletion, in.MaxTokens)); err != nil {
		return err
	}
	spec.Client.Temperature = in.Temperature
	spec.Client.Sampling = llm.Sampling{TopP: in.TopP, FrequencyPenalty: in.FrequencyPenalty,
		PresencePenalty: in.PresencePenalty, Seed: in.Seed, ReasoningEffort: in.ReasoningEffort,
		ParallelCalls: in.ParallelCalls}
	if spec.Client.Sampling.Stop, err = stopOf(in.Stop); err != nil {
		return err
	}
	spec.Client.Sampling.Format, err = formatOf("response_format", in.ResponseFormat)
	return err
}

// number is an optional number of a request with its limits.
type number struct {
	name      string
	value     *float64
	low, high float64
}

func (n number) check() error {
	if n.value != nil && (*n.value < n.low || *n.value > n.high) {
		return invalid(n.name, "%s is %v, must be %v to %v", n.name, *n.value, n.low, n.high)
	}
	return nil
}

// limitReply limits the tokens of a reply; 0 is the limit of the deployment, which a request cannot exceed.
func limitReply(spec *agentrun.Spec, name string, most int) error {
	if most < 0 {
		return invalid(name, "%s is %d, must be positive", name, most)
	}
	if own := spec.Limits.MaxTokens; most > 0 && (own == 0 || most < own) {
		spec.Limits.MaxTokens = most
	}
	return nil
}

// stopOf reads one text or a list of at most four.
func stopOf(raw json.RawMessage) (all []string, err error) {
	var one string
	switch {
	case empty(raw):
		return nil, nil
	case json.Unmarshal(raw, &one) == nil:
		return []string{one}, nil
	case json.Unmarshal(raw, &all) != nil || len(all) > 4:
		return nil, invalid("stop", "stop must be a string, or a list of at most 4 strings")
	}
	return all, nil
}

// formatOf checks the format of the reply. Plain text is the default.
func formatOf(param string, raw json.RawMessage) (json.RawMessage, error) {
	if empty(raw) {
		return nil, nil
	}
	var format struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	_ = json.Unmarshal(raw, &format) // a wrong form has no type
	switch {
	case format.Type == "text":
		return nil, nil
	case format.Type == "json_object":
	case format.Type != "json_schema":
		return nil, invalid(param, "type of %s must be text, json_object or json_schema", param)
	case format.Schema.Name == "" || !isObject(format.Schema.Schema):
		return nil, invalid(param, "a JSON schema in %s needs a name and a schema", param)
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, raw)
	return compact.Bytes(), err
}
