package llm

import (
	"errors"
	"reflect"
)

// WithoutSchema moves r's schema into the system message as text. It is for endpoints without
// structured output, and for the retry after a NoSchema error. It also removes r.JSON.
func WithoutSchema(r Request) Request {
	r.JSON = false
	if r.Schema == nil {
		return r
	}
	wording := wordingFor(r.System)
	separator := ""
	if r.System != "" {
		separator = "\n\n"
	}
	r.System += separator + wording.schema + "\n" + string(r.Schema.JSON)
	r.Schema = nil
	return r
}

// WithoutOptions removes the options that only some endpoints support. It is for the retry after a
// NoOption error.
func WithoutOptions(r Request) Request {
	r.ToolChoice, r.Temperature, r.NoReasoning, r.Stream, r.CacheKey = ChooseAuto, nil, false, false, ""
	r.Sampling = Sampling{Stop: r.Sampling.Stop, Format: r.Sampling.Format}
	return r
}

// Plainer returns r without the feature that err reports as unsupported. The result is false if
// there is nothing to remove.
func Plainer(r Request, err error) (Request, bool) {
	var failed *Error
	if !errors.As(err, &failed) {
		return r, false
	}
	switch {
	case failed.Class == NoSchema && (r.Schema != nil || r.JSON):
		return WithoutSchema(r), true
	case failed.Class == NoOption && r.hasOptions():
		return WithoutOptions(r), true
	}
	return r, false
}

// hasOptions reports whether WithoutOptions changes r.
func (r Request) hasOptions() bool { return !reflect.DeepEqual(r, WithoutOptions(r)) }
