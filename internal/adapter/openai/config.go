package openai

import (
	"net/http"
	"net/url"
	"time"

	"cairn/internal/domain/fault"
)

// How a Schema is asked for.
const (
	// json_schema, strict when the schema allows it; callers fall back through llm.WithoutSchema on llm.NoSchema
	StructuredAuto   = "auto"
	StructuredSchema = "json_schema" // json_schema, always strict
	StructuredObject = "json_object" // JSON mode, with the schema as text in the system message
	StructuredNone   = "none"        // the schema as text in the system message, nothing else
)

// DefaultTimeout bounds one request. It stays below the three minutes that a
// Temporal activity has for a model call, so that a stuck request is classed
// here and not killed from outside.
const DefaultTimeout = 150 * time.Second

// OpenAIURL is the endpoint when Config.BaseURL is empty.
const OpenAIURL = "https://api.openai.com/v1"

// Config names one OpenAI-compatible endpoint.
type Config struct {
	BaseURL    string        // with its /v1; empty means OpenAIURL
	APIKey     string        // sent as a bearer token; empty sends none
	Structured string        // one of the Structured constants; empty means auto
	Timeout    time.Duration // of one request, 0 means DefaultTimeout
	HTTPClient *http.Client  // nil means a pooled client that follows no redirects
	Offline    bool          // the endpoint is the rule-based model in this process; usage is marked as estimated
}

// Validate tells what is wrong with c as fault.Misconfigured.
func (c Config) Validate() error {
	switch c.Structured {
	case "", StructuredAuto, StructuredSchema, StructuredObject, StructuredNone:
	default:
		return fault.New(fault.Misconfigured, "structured output "+quote(c.Structured)+" is unknown",
			"use one of auto, json_schema, json_object, none")
	}
	if c.Timeout < 0 {
		return fault.New(fault.Misconfigured, "the timeout of model calls is negative",
			"use a duration such as 150s, or 0 for the default")
	}
	base, err := url.Parse(c.base())
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return fault.New(fault.Misconfigured, "the model endpoint "+quote(c.BaseURL)+" is not an http or https URL",
			"set OPENAI_BASE_URL to something like "+OpenAIURL)
	}
	return nil
}

func (c Config) base() string {
	if c.BaseURL == "" {
		return OpenAIURL
	}
	return c.BaseURL
}

func (c Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}
