package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/domain/decoding"
	"cairn/internal/domain/settings"
	"cairn/internal/gateway/edge"
)

// Gateway serves the HTTP API. It is an http.Handler and is safe for concurrent use.
type Gateway struct {
	Services
	Options Options
	Edge    *edge.Edge // also of the other gateways of this process

	mux     *http.ServeMux
	api     huma.API
	meter   Meter
	streams *edge.Streams
	closing context.Context // ends when the gateway stops; streams and waits end with it
	stop    context.CancelFunc

	consoleMux *http.ServeMux // of the console, if it is apart from the API

	draining atomic.Bool // the gateway will stop; load balancers must send no more requests
}

// Meter records metrics of requests.
type Meter interface {
	// Request records one request. Route is the method and the route pattern, never the
	// path, which limits the number of series. It is empty if no route matched.
	Request(route string, status int, took time.Duration)
	// Handler serves the metrics in the Prometheus format. Nil means no metrics.
	Handler() http.Handler
}

// NoMeter records nothing.
var NoMeter Meter = noMeter{}

type noMeter struct{}

func (noMeter) Request(string, int, time.Duration) {}
func (noMeter) Handler() http.Handler              { return nil }

// New returns a gateway that serves s.
func New(s Services, o Options, m Meter) *Gateway {
	g := &Gateway{Services: s, Options: o, mux: http.NewServeMux(), meter: m}
	g.closing, g.stop = context.WithCancel(context.Background())
	g.Edge = edge.New(edge.Options{Log: s.Log, Keys: s.Keys, People: s.People, TrustedProxies: o.TrustedProxies,
		RateLimit: o.RateLimit, BatchBytes: o.BatchBytes, RequestBytes: o.RequestBytes, Closing: g.closing})
	g.streams = g.Edge.NewStreams(streamLimits)
	g.api = humago.New(g.mux, description())
	g.api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[settings.Spend](), reflect.TypeFor[spend]())
	g.turnRoutes()
	g.conversationRoutes()
	g.memoryRoutes()
	g.memoryBatchRoutes()
	g.longTermRoutes()
	g.dumpRoutes()
	g.summaryRoutes()
	g.retrieveRoutes()
	g.soulRoutes()
	g.feedbackRoutes()
	g.bankRoutes()
	g.settingsRoutes()
	g.workingRoutes()
	g.toolRoutes()
	g.mcpRoute()
	g.distillRoutes()
	g.importRoutes()
	g.otlpRoutes()
	g.runRoutes()
	g.eventRoutes()
	g.exploreRoutes()
	g.overviewRoutes()
	g.skillRoutes()
	g.versionRoutes()
	g.packageRoutes()
	g.changeRoutes()
	g.inboxRoutes()
	g.keyRoutes()
	g.uploadRoutes()
	g.searchRoutes()
	g.scheduleRoutes()
	g.curationRoutes()
	g.eraseRoutes()
	g.auditRoutes()
	g.reembedRoutes()
	g.reflectionRoutes()
	g.mem0Routes()
	g.openAIRoutes()
	g.healthRoutes()
	g.codecRoutes()
	if g.Webhooks != nil {
		g.mux.Handle("/channels/", g.Webhooks)
	}
	return g
}

func description() huma.Config {
	c := huma.DefaultConfig("Cairn", "1")
	c.Info.Description = "A durable memory and skill engine for AI agents. The API key selects the workspace."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearer: {Type: "http", Scheme: "bearer",
			Description: "An API key from `cairn keys create` with the scope read, write or admin."}}
	c.Tags = []*huma.Tag{{Name: tagTurns, Description: "Send messages and read conversations"},
		{Name: tagMemory, Description: "Manage prompt memory and long-term memory"},
		{Name: tagWorking, Description: "Shorten long threads and read offloaded content"},
		{Name: tagSettings, Description: "Manage the settings of the workspace"},
		{Name: tagTools, Description: "List and call the tools of agents"},
		{Name: tagDistill, Description: "Distill conversations into skills"},
		{Name: tagBanks, Description: "Manage memory skills and the policy that selects them"},
		{Name: tagRuns, Description: "Follow and retry runs"},
		{Name: tagSkills, Description: "Manage skills, their versions and packages"},
		{Name: tagApproval, Description: "Approve or reject pending changes"},
		{Name: tagKeys, Description: "Manage API keys, users of gateways and messages to chat platforms"},
		{Name: tagSchedules, Description: "Manage scheduled tasks"},
		{Name: tagReflections, Description: "Reflect on days of conversations"},
		{Name: tagErase, Description: "Erase a workspace, a conversation or a subject and verify the removal"},
		{Name: tagAudit, Description: "Read who did what"},
		{Name: tagHealth, Description: "Health checks for operators"}}
	c.RejectUnknownQueryParameters = true // a misspelled filter must not return all results
	c.Formats = maps.Clone(c.Formats)
	for kind, format := range c.Formats {
		c.Formats[kind] = huma.Format{Marshal: format.Marshal, Unmarshal: func(data []byte, v any) error {
			release, err := decoding.Begin(context.Background(), len(data)) // huma passes no context
			if err != nil {
				return err
			}
			defer release()
			return format.Unmarshal(data, v)
		}}
	}
	c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", nil // no page with foreign scripts, no $schema in responses
	return c
}

// Tags group the routes in the OpenAPI document.
const (
	tagTurns    = "conversations"
	tagMemory   = "memory"
	tagSettings = "settings"
	tagTools    = "tools"
	tagDistill  = "distill"
	tagRuns     = "runs"
	tagSkills   = "skills"
	tagApproval = "approval"
	tagAudit    = "audit"
	tagHealth   = "health"
)

// OpenAPI returns the OpenAPI document of the routes, the content of schemas/openapi.json.
func (g *Gateway) OpenAPI() ([]byte, error) {
	raw, err := json.MarshalIndent(g.api.OpenAPI(), "", "  ")
	return append(raw, '\n'), err
}
