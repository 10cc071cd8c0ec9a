package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Gateway is the HTTP API over services.
type Gateway struct {
	Services
	Options Options

	mux     *http.ServeMux
	api     huma.API
	meter   Meter
	rates   *rates
	closing context.Context // ends when the gateway stops: streams and waits end with it
	stop    context.CancelFunc
}

// Meter counts what the gateway does.
type Meter interface {
	// Request counts one answered request. Route is the method and the pattern,
	// never the path, so that there are as many series as routes; it is empty
	// for what no route takes.
	Request(route string, status int, took time.Duration)
	// Handler shows the counts in Prometheus' form; nil shows nothing.
	Handler() http.Handler
}

// NoMeter counts nothing.
var NoMeter Meter = noMeter{}

type noMeter struct{}

func (noMeter) Request(string, int, time.Duration) {}
func (noMeter) Handler() http.Handler              { return nil }

// New makes the gateway of services.
func New(s Services, o Options, m Meter) *Gateway {
	g := &Gateway{Services: s, Options: o, mux: http.NewServeMux(), meter: m, rates: newRates(o.RateLimit)}
	g.closing, g.stop = context.WithCancel(context.Background())
	g.api = humago.New(g.mux, description())
	g.turnRoutes()
	g.conversationRoutes()
	g.memoryRoutes()
	g.longTermRoutes()
	g.dumpRoutes()
	g.summaryRoutes()
	g.retrieveRoutes()
	g.pendingMemoryRoutes()
	g.soulRoutes()
	g.feedbackRoutes()
	g.bankRoutes()
	g.settingsRoutes()
	g.workingRoutes()
	g.toolRoutes()
	g.mcpRoute()
	g.distillRoutes()
	g.runRoutes()
	g.eventRoutes()
	g.skillRoutes()
	g.versionRoutes()
	g.packageRoutes()
	g.changeRoutes()
	g.pendingRoutes()
	g.uploadRoutes()
	g.searchRoutes()
	g.scheduleRoutes()
	g.curationRoutes()
	g.eraseRoutes()
	g.reflectionRoutes()
	g.mem0Routes()
	g.healthRoutes()
	g.codecRoutes()
	return g
}

func description() huma.Config {
	c := huma.DefaultConfig("Cairn", "1")
	c.Info.Description = "A durable memory and skill engine for AI agents. The workspace comes from the key."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearer: {Type: "http", Scheme: "bearer",
			Description: "A key that `cairn keys create` made, with the scopes read, write or admin."}}
	c.Tags = []*huma.Tag{{Name: tagTurns, Description: "Messages are answered, and what was said is reviewed"},
		{Name: tagMemory, Description: "What is known of the user, in every prompt"},
		{Name: tagWorking, Description: "Threads that have grown too long for a model"},
		{Name: tagSettings, Description: "What the workspace chose for itself"},
		{Name: tagTools, Description: "What agents can do, for programs"},
		{Name: tagDistill, Description: "Conversations become skills"},
		{Name: tagBanks, Description: "Memory skills: how conversations become memories, and the policy that chooses"},
		{Name: tagRuns, Description: "What became of a request"},
		{Name: tagSkills, Description: "Skills, their versions and packages"},
		{Name: tagApproval, Description: "Changes that wait for a person"},
		{Name: tagSchedules, Description: "What is done again and again"},
		{Name: tagReflections, Description: "What days of conversations came to"},
		{Name: tagErase, Description: "Everything of a workspace or conversation, gone and counted"},
		{Name: tagHealth, Description: "For those who run the gateway"}}
	c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", nil // no page from foreign servers, no $schema in every answer
	return c
}

// Tags group the routes in the description.
const (
	tagTurns    = "conversations"
	tagMemory   = "memory"
	tagSettings = "settings"
	tagTools    = "tools"
	tagDistill  = "distill"
	tagRuns     = "runs"
	tagSkills   = "skills"
	tagApproval = "approval"
	tagHealth   = "health"
)

// OpenAPI is the description of the routes as schemas/openapi.json has it.
func (g *Gateway) OpenAPI() ([]byte, error) {
	raw, err := json.MarshalIndent(g.api.OpenAPI(), "", "  ")
	return append(raw, '\n'), err
}
