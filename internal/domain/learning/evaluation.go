package learning

import "cairn/internal/domain/settings"

// Cost formats the cost. It is a dash if no call has a known price.
func (u EvaluationUsage) Cost() string {
	if u.Calls > 0 && u.Unpriced == u.Calls {
		return "–"
	}
	return settings.Dollars(u.CostMicros)
}

// EvaluationCall is a model call with its usage.
type EvaluationCall struct {
	Step    string
	Seconds float64 // from the first request to the reply
	EvaluationUsage
}

// EvaluationUsage is the usage of model calls with stored replies.
type EvaluationUsage struct {
	Calls      int   `json:"calls"`
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CostMicros int64 `json:"cost_micros"`
	Unpriced   int   `json:"unpriced_calls,omitempty"` // calls without a known price, which CostMicros lacks
}

// Plus returns the sum of u and o.
func (u EvaluationUsage) Plus(o EvaluationUsage) EvaluationUsage {
	return EvaluationUsage{u.Calls + o.Calls, u.Input + o.Input, u.Output + o.Output, u.CostMicros + o.CostMicros,
		u.Unpriced + o.Unpriced}
}
