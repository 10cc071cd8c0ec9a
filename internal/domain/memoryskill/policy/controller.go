package policy

import (
	"cmp"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// Controller makes choosers, trains them with decisions, and encodes and decodes them. Equal
// arguments give equal results. Controllers are the ones that Cairn has.
type Controller interface {
	// Start returns c and o if c has form f, and otherwise an untrained chooser of that form. c is
	// nil if there is none yet. Equal keys give equal choosers.
	Start(c Chooser, o Optimizer, f Form, key keyedrand.Key) (Chooser, Optimizer, error)
	// Update trains on a batch. It does not modify the given chooser and optimizer.
	Update(c Chooser, o Optimizer, b Batch) (Chooser, Optimizer, Report, error)
	// Accepts reports whether c can learn from d, which another chooser may have made.
	Accepts(c Chooser, d Decision) bool
	// Encode returns both in the form that is stored under their hashes.
	Encode(c Chooser, o Optimizer) (chooser, optimizer []byte, err error)
	// Decode decodes the results of Encode.
	Decode(chooser, optimizer []byte) (Chooser, Optimizer, error)
}

// Names of the controllers.
const (
	ControllerPPO      = "ppo"      // an actor-critic model: the default
	ControllerThompson = "thompson" // a linear bandit with Thompson sampling
)

// ControllerNames lists the controllers.
var ControllerNames = []string{ControllerPPO, ControllerThompson}

// ControllerOf returns the name of the controller that makes choosers like c, and "" for others.
func ControllerOf(c Chooser) string {
	switch c.(type) {
	case Policy:
		return ControllerPPO
	case Bandit:
		return ControllerThompson
	}
	return ""
}

// Controllers is all controllers of ControllerNames as one. A Form names the one that starts a
// chooser; after that, the chooser decides.
type Controllers struct{}

// named returns a controller by its name; PPO is the default.
func named(name string) (Controller, error) {
	switch name {
	case "", ControllerPPO:
		return PPOLearner{}, nil
	case ControllerThompson:
		return ThompsonLearner{}, nil
	}
	return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown controller %q", name), "use ppo or thompson")
}

// Start implements Controller. A chooser of another controller than that of f is replaced.
func (Controllers) Start(c Chooser, o Optimizer, f Form, key keyedrand.Key) (Chooser, Optimizer, error) {
	has := ControllerOf(c)
	f.Controller = cmp.Or(f.Controller, has)
	controller, err := named(f.Controller)
	if err != nil {
		return nil, nil, err
	}
	if has != f.Controller {
		c, o = nil, nil
	}
	return controller.Start(c, o, f, key)
}

// Update implements Controller.
func (Controllers) Update(c Chooser, o Optimizer, b Batch) (Chooser, Optimizer, Report, error) {
	controller, err := named(ControllerOf(c))
	if err != nil {
		return c, o, Report{}, err
	}
	return controller.Update(c, o, b)
}

// Accepts implements Controller.
func (Controllers) Accepts(c Chooser, d Decision) bool {
	controller, err := named(ControllerOf(c))
	return err == nil && controller.Accepts(c, d)
}

// Encode implements Controller.
func (Controllers) Encode(c Chooser, o Optimizer) (chooser, optimizer []byte, err error) {
	controller, err := named(ControllerOf(c))
	if err != nil {
		return nil, nil, err
	}
	return controller.Encode(c, o)
}

// Decode implements Controller. The first bytes of a chooser name its kind.
func (Controllers) Decode(chooser, optimizer []byte) (Chooser, Optimizer, error) {
	if strings.HasPrefix(string(chooser[:min(len(chooser), len(banditKind))]), banditKind) {
		return ThompsonLearner{}.Decode(chooser, optimizer)
	}
	return PPOLearner{}.Decode(chooser, optimizer)
}
