package openai

import (
	"net/http"
	"net/url"
	"time"

	"cairn/internal/domain/fault"
)

// The values of Config.Structured: how an endpoint is asked for a schema.
const (
	// json_schema, strict if the schema allows it; on llm.NoSchema callers fall back through
	// llm.WithoutSchema
	StructuredAuto   = "auto"
	StructuredSchema = "json_schema" // json_schema, always strict
	StructuredObject = "json_object" // JSON mode, with the schema as text in the system message
	StructuredNone   = "none"        // the schema as text in the system message only
)

// DefaultTimeout bounds one request. A Temporal activity has three minutes for a model call. The
// timeout is shorter, so that a stuck request is classified here before the activity times out.
const DefaultTimeout = 150 * time.Second

// DefaultSilence is the time without data after which a stream has failed.
const DefaultSilence = time.Minute

// OpenAIURL is the endpoint when Config.BaseURL is empty.
const OpenAIURL = "https://api.openai.com/v1"

// Config names one OpenAI-compatible endpoint.
type Config struct {
	BaseURL    string                 // including /v1; empty means OpenAIURL
	APIKey     string                 // sent as a bearer token; empty sends none
	Structured string                 // one of the Structured constants; empty means auto
	Timeout    time.Duration          // of one request; 0 means DefaultTimeout
	Silence    time.Duration          // time without data that ends a stream; 0 means DefaultSilence
	MaxReply   int64                  // maximum size of a response in bytes; 0 means DefaultMaxReply
	HTTPClient *http.Client           // nil means a pooled client that follows no redirects
	RereadKey  func() (string, error) // reads APIKey again after status 401; nil if it is not in a file
	Offline    bool                   // the endpoint is the offline model in this process; usage is marked as estimated
}

// Validate returns fault.Misconfigured if c is invalid.
func (c Config) Validate() error {
	switch c.Structured {
	case "", StructuredAuto, StructuredSchema, StructuredObject, StructuredNone:
	default:
		return fault.New(fault.Misconfigured, "unknown structured output "+quote(c.Structured),
			"use one of auto, json_schema, json_object, none")
	}
	if c.Timeout < 0 {
		return fault.New(fault.Misconfigured, "negative timeout of model calls",
			"use a duration such as 150s, or 0 for the default")
	}
	base, err := url.Parse(c.base())
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return fault.New(fault.Misconfigured, "model endpoint "+quote(c.BaseURL)+" is not an http or https URL",
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
