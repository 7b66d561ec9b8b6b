// Replays traces of requests with the queue sets of k8s.io/apiserver, for the comparison with Keelson's.
//
// Each line of the input is a trace in JSON, each line of the output the states after its steps, as a JSON list of
// strings. tests/oracle.rs explains both.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/debug"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// Step is one event of a trace. Which fields count depends on Op.
type Step struct {
	Op     string // arrive, finish, cancel, wait, configure
	ID     int
	Hash   string
	Seats  [2]uint64 // initial, final
	Time   int64     // of the final seats, or to wait, in nanoseconds
	Config Config
}

// Config is that of a priority level. Queues: -1 for exempt, 0 for reject.
type Config struct {
	Queues, Hand, Length, Limit int
}

// Trace begins with a configuration at time zero.
type Trace struct {
	Config Config
	Steps  []Step
}

// Gauge counts nothing.
type Gauge struct{}

func (Gauge) Set(float64)            {}
func (Gauge) Inc()                   {}
func (Gauge) Dec()                   {}
func (Gauge) Add(float64)            {}
func (Gauge) SetToCurrentTime()      {}
func (Gauge) SetDenominator(float64) {}

// Clock stands still until it is told to go on; it then runs what is due, one after the other.
type Clock struct {
	now    time.Time
	events []event
}

type event struct {
	at  time.Time
	run eventclock.EventFunc
}

func (c *Clock) Now() time.Time                  { return c.now }
func (c *Clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }
func (c *Clock) Sleep(time.Duration)             { panic("a queue set does not sleep") }
func (c *Clock) EventAfterDuration(f eventclock.EventFunc, d time.Duration) {
	c.EventAfterTime(f, c.now.Add(d))
}
func (c *Clock) EventAfterTime(f eventclock.EventFunc, t time.Time) {
	c.events = append(c.events, event{t, f})
	sort.SliceStable(c.events, func(i, j int) bool { return c.events[i].at.Before(c.events[j].at) })
}

// Settle is called after each event, before the time goes on.
func (c *Clock) advance(d time.Duration, settle func()) {
	until := c.now.Add(d)
	for len(c.events) > 0 && !c.events[0].at.After(until) {
		next := c.events[0]
		c.events = c.events[1:]
		c.now = next.at
		next.run(next.at)
		settle()
	}
	c.now = until
}

// Running is a request whose outcome is not decided yet.
type Running struct {
	cancel  context.CancelFunc
	started chan struct{}
	finish  chan struct{}
	done    chan struct{}
	ended   bool
}

type replay struct {
	clock    *Clock
	set      fq.QueueSet
	requests map[int]*Running
}

func (r *replay) configure(c Config) error {
	queuing := fq.QueuingConfig{Name: "level", DesiredNumQueues: c.Queues, HandSize: c.Hand, QueueLengthLimit: c.Length}
	var completer fq.QueueSetCompleter
	var err error
	if r.set == nil {
		pair := metrics.RatioedGaugePair{RequestsWaiting: Gauge{}, RequestsExecuting: Gauge{}}
		completer, err = queueset.NewQueueSetFactory(r.clock).BeginConstruction(queuing, pair, Gauge{}, Gauge{})
	} else {
		completer, err = r.set.BeginConfigChange(queuing)
	}
	if err == nil {
		r.set = completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: c.Limit, ConcurrencyDenominator: 1})
	}
	return err
}

func (r *replay) arrive(step Step) error {
	hash, err := strconv.ParseUint(step.Hash, 10, 64)
	if err != nil {
		return err
	}
	work := request.WorkEstimate{InitialSeats: step.Seats[0], FinalSeats: step.Seats[1], AdditionalLatency: time.Duration(step.Time)}
	ctx, cancel := context.WithCancel(context.Background())
	handle, _ := r.set.StartRequest(ctx, &work, hash, strconv.Itoa(step.ID), "schema", nil, nil, nil)
	if handle == nil {
		cancel()
		return nil
	}
	running := &Running{cancel, make(chan struct{}), make(chan struct{}), make(chan struct{}), false}
	r.requests[step.ID] = running
	go func() {
		handle.Finish(func() {
			close(running.started)
			<-running.finish
		})
		close(running.done)
	}()
	return nil
}

func (r *replay) step(step Step) error {
	switch step.Op {
	case "arrive":
		return r.arrive(step)
	case "wait":
		r.clock.advance(time.Duration(step.Time), r.settle)
	case "configure":
		return r.configure(step.Config)
	case "finish":
		running := r.requests[step.ID]
		<-running.started
		running.ended = true
		close(running.finish)
		<-running.done
	case "cancel":
		running := r.requests[step.ID]
		running.cancel()
		<-running.done
	}
	return nil
}

// Waits until every request that was dispatched has noticed it. That moves the progress meter of the queue set, so it must
// happen at the time of the dispatch.
func (r *replay) settle() {
	dump := r.set.Dump(false)
	wait := func(requests []debug.RequestDump) {
		for _, it := range requests {
			id, _ := strconv.Atoi(it.FlowDistinguisher)
			<-r.requests[id].started
		}
	}
	wait(dump.QueuelessExecutingRequests)
	for _, queue := range dump.Queues {
		wait(queue.RequestsExecuting)
	}
}

// The state: what waits in each queue and when it is dispatched, what runs, the seats in use.
func (r *replay) state() string {
	dump := r.set.Dump(false)
	var running []int
	take := func(requests []debug.RequestDump) {
		for _, it := range requests {
			id, _ := strconv.Atoi(it.FlowDistinguisher)
			running = append(running, id)
		}
	}
	take(dump.QueuelessExecutingRequests)
	var queues []string
	for _, queue := range dump.Queues {
		take(queue.RequestsExecuting)
		var waiting []string
		for _, it := range queue.Requests {
			waiting = append(waiting, it.FlowDistinguisher)
		}
		if len(waiting) > 0 {
			queues = append(queues, strings.Join(waiting, ",")+"@"+queue.NextDispatchR)
		} else {
			queues = append(queues, "")
		}
	}
	sort.Ints(running)
	return fmt.Sprintf("seats %d running %v queues %s", dump.SeatsInUse, running, strings.Join(queues, "|"))
}

func (r *replay) run(trace Trace) ([]string, error) {
	if err := r.configure(trace.Config); err != nil {
		return nil, err
	}
	states := []string{}
	for _, step := range trace.Steps {
		if err := r.step(step); err != nil {
			return nil, err
		}
		r.settle()
		states = append(states, r.state())
	}
	for _, running := range r.requests {
		running.cancel()
		if !running.ended {
			close(running.finish)
		}
	}
	return states, nil
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 64<<20)
	output := bufio.NewWriter(os.Stdout)
	for input.Scan() {
		var trace Trace
		if err := json.Unmarshal(input.Bytes(), &trace); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		replay := &replay{&Clock{now: time.Unix(0, 0)}, nil, map[int]*Running{}}
		states, err := replay.run(trace)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		line, _ := json.Marshal(states)
		output.Write(append(line, '\n'))
		output.Flush()
	}
}
