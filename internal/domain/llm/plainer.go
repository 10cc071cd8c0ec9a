package llm

import "errors"

// WithoutSchema moves r's schema into the system message as text: what an
// endpoint without structured output gets, and what to send after a NoSchema.
func WithoutSchema(r Request) Request {
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

// WithoutOptions leaves out what only some endpoints take: what to send after a
// NoOption.
func WithoutOptions(r Request) Request {
	r.ToolChoice, r.Temperature, r.NoReasoning = ChooseAuto, nil, false
	return r
}

// Plainer is r without what err says that the endpoint does not know; false
// when there is nothing to leave out.
func Plainer(r Request, err error) (Request, bool) {
	var failed *Error
	if !errors.As(err, &failed) {
		return r, false
	}
	switch {
	case failed.Class == NoSchema && r.Schema != nil:
		return WithoutSchema(r), true
	case failed.Class == NoOption && (r.ToolChoice != ChooseAuto || r.Temperature != nil || r.NoReasoning):
		return WithoutOptions(r), true
	}
	return r, false
}
