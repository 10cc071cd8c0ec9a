package openai

import (
	"net/http"
	"net/url"
	"strings"
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

// The values of Config.Cache: how the end of a prefix that requests share is marked for the endpoint's cache.
// Endpoints that cache by themselves need no mark.
const (
	CacheAuto      = "auto"      // by the host of the endpoint and the name of the model
	CacheOpenAI    = "openai"    // prompt_cache_key and prompt_cache_breakpoint
	CacheAnthropic = "anthropic" // cache_control
	CacheOff       = "off"
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
	Cache      string                 // one of the Cache constants; empty means auto
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
	switch c.Cache {
	case "", CacheAuto, CacheOpenAI, CacheAnthropic, CacheOff:
	default:
		return fault.New(fault.Misconfigured, "unknown cache of model requests "+quote(c.Cache),
			"use one of auto, openai, anthropic, off")
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

// Marks reports whether requests to a model mark shared prefixes, because the endpoint is known to cache them.
func (c Config) Marks(model string) bool { return c.cacheFor(model) != CacheOff }

// cacheFor returns how a prefix is marked for a model: CacheOpenAI, CacheAnthropic or CacheOff.
func (c Config) cacheFor(model string) string {
	if c.Cache != "" && c.Cache != CacheAuto {
		return c.Cache
	}
	base, err := url.Parse(c.base())
	if err != nil {
		return CacheOff
	}
	host := base.Hostname()
	switch {
	case host == "api.openai.com":
		return CacheOpenAI
	case strings.HasSuffix(host, "anthropic.com"), strings.Contains(strings.ToLower(model), "claude"):
		return CacheAnthropic
	}
	return CacheOff // an unknown endpoint may reject marks
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
