package httpapi

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/settings"
)

// schemaOf returns the schema of a type that no handler uses in its signature.
func schemaOf[T any](g *Gateway) *huma.Schema {
	t := reflect.TypeFor[T]()
	return g.api.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// content returns the description of a body with one media type.
func content(mediaType string, s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{mediaType: {Schema: s}}
}

func text(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: description}
}

func binary(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "binary", Description: description}
}

// spend describes settings.Spend.
type spend struct{}

// Schema is the schema of a limit of cost.
func (spend) Schema(huma.Registry) *huma.Schema {
	least, most := 0.0, float64(settings.MaxSpend)
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeInteger, Format: "int64", Minimum: &least, Maximum: &most, Description: "Micro-dollars"},
		{Type: huma.TypeString, Enum: []any{settings.Unlimited.String()}},
	}}
}
