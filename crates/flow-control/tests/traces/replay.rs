//! Traces: random requests for one priority level, and the states that they lead to.
//!
//! A trace is JSON: a configuration and steps. The oracle (testdata/oracle) reads the same traces and answers with the
//! states of upstream's queue set. A state names the seats in use, the requests that run, and for each queue the
//! requests that wait, with the reading of R at which the next one is dispatched.

use std::collections::HashMap;

use keelson_flow_control::{Arrival, Dealer, Nanos, QueueSet, Queuing, Ticket, WorkEstimate};
use serde_json::{Value, json};

/// A small generator of random numbers (xorshift), so that a seed names a trace for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Writes a trace of `length` steps. Requests are finished and cancelled as our own queue set allows.
pub(crate) fn random_trace(seed: u64, length: usize) -> Value {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let config = random_config(&mut random);
    let mut replay = Replay::new(&config);
    let mut steps = Vec::new();
    for id in 0..length {
        let step = random_step(&mut random, &replay, id);
        replay.step(&step);
        steps.push(step);
    }
    json!({"Config": config, "Steps": steps})
}

fn random_config(random: &mut Random) -> Value {
    let (queues, hand) = match random.below(8) {
        0 => (-1, 0),
        1 => (0, 0),
        2 => (1, 1),
        3 => (64, 6),
        _ => (2 + random.below(6) as i64, 1 + random.below(2) as i64),
    };
    json!({"Queues": queues, "Hand": hand, "Length": 1 + random.below(5), "Limit": 1 + random.below(12)})
}

fn random_step(random: &mut Random, replay: &Replay, id: usize) -> Value {
    let pick = |random: &mut Random, ids: &[usize]| ids[random.below(ids.len() as u64) as usize];
    let (running, waiting) = (replay.running(), replay.waiting());
    match random.below(20) {
        0..=8 => {
            let initial = if random.below(4) == 0 { 1 + random.below(14) } else { 1 };
            let last = if random.below(3) == 0 { random.below(6) } else { 0 };
            let time = if last > 0 { random.below(200) * 1_000_000 } else { 0 };
            let hash = random.below(5).wrapping_mul(0x0123_4567_89AB_CDEF).to_string();
            json!({"Op": "arrive", "ID": id, "Hash": hash, "Seats": [initial, last], "Time": time})
        }
        9..=13 if !running.is_empty() => json!({"Op": "finish", "ID": pick(random, &running)}),
        14 if !waiting.is_empty() => json!({"Op": "cancel", "ID": pick(random, &waiting)}),
        15 if random.below(4) == 0 => json!({"Op": "configure", "Config": wider(random, replay)}),
        _ => json!({"Op": "wait", "Time": random.below(40_000_000)}),
    }
}

/// A change of the limit, and perhaps more queues. Fewer queues are left out: when seats of a removed queue linger,
/// upstream later removes another queue in its place.
fn wider(random: &mut Random, replay: &Replay) -> Value {
    let mut config = replay.config.clone();
    config["Limit"] = json!(1 + random.below(12));
    if config["Queues"].as_i64() > Some(1) && random.below(2) == 0 {
        config["Queues"] = json!(config["Queues"].as_i64().unwrap_or(1) + 1);
    }
    config
}

/// The states after each step of a trace, by our own queue set.
pub(crate) fn states(trace: &Value) -> Vec<String> {
    let mut replay = Replay::new(&trace["Config"]);
    let steps = trace["Steps"].as_array().expect("steps");
    let state = |step| {
        replay.step(step);
        replay.state()
    };
    steps.iter().map(state).collect()
}

struct Replay {
    config: Value,
    set: QueueSet,
    now: Nanos,
    tickets: HashMap<Ticket, usize>,
    running: Vec<usize>,
    /// Finished requests whose seats linger, with the time at which they are free, in the order of finishing.
    lingering: Vec<(Nanos, Ticket)>,
}

impl Replay {
    fn new(config: &Value) -> Replay {
        let (queuing, limit) = queuing(config);
        Replay {
            config: config.clone(),
            set: QueueSet::new(queuing, limit, 0),
            now: 0,
            tickets: HashMap::new(),
            running: Vec::new(),
            lingering: Vec::new(),
        }
    }

    fn running(&self) -> Vec<usize> {
        self.running.clone()
    }

    fn waiting(&self) -> Vec<usize> {
        self.set.queues().flat_map(|(_, waiting)| waiting).map(|ticket| self.tickets[&ticket]).collect()
    }

    fn step(&mut self, step: &Value) {
        let number = |value: &Value| value.as_i64().expect("a number");
        match step["Op"].as_str() {
            Some("arrive") => self.arrive(step),
            Some("wait") => self.wait(number(&step["Time"])),
            Some("configure") => {
                let (queuing, limit) = queuing(&step["Config"]);
                self.set.configure(queuing, limit, self.now);
                self.config = step["Config"].clone();
            }
            Some("finish") => {
                let ticket = self.ticket(number(&step["ID"]));
                self.running.retain(|id| *id != self.tickets[&ticket]);
                if let Some(time) = self.set.finish(ticket, self.now) {
                    self.lingering.push((self.now + time, ticket));
                }
            }
            Some("cancel") => {
                let ticket = self.ticket(number(&step["ID"]));
                assert!(self.set.cancel(ticket, self.now), "only requests that wait are cancelled");
            }
            other => panic!("a step: {other:?}"),
        }
        self.note_started();
    }

    fn arrive(&mut self, step: &Value) {
        let id = step["ID"].as_u64().expect("an id") as usize;
        let work = WorkEstimate {
            initial_seats: step["Seats"][0].as_u64().expect("seats"),
            final_seats: step["Seats"][1].as_u64().expect("seats"),
            final_time: step["Time"].as_i64().expect("a time"),
        };
        let hash = step["Hash"].as_str().and_then(|it| it.parse().ok()).expect("a hash");
        match self.set.arrive(work, hash, self.now) {
            Arrival::Running(ticket) => {
                self.tickets.insert(ticket, id);
                self.running.push(id);
            }
            Arrival::Waiting(ticket) => {
                self.tickets.insert(ticket, id);
            }
            Arrival::Rejected(_) => (),
        }
    }

    fn wait(&mut self, time: Nanos) {
        let until = self.now + time;
        loop {
            // A stable order: the first of those that are due at the same time.
            let due = self.lingering.iter().enumerate().min_by_key(|(_, (at, _))| *at);
            let Some((index, &(at, ticket))) = due.filter(|(_, (at, _))| *at <= until) else { break };
            self.lingering.remove(index);
            self.now = at;
            self.set.release(ticket, at);
            self.note_started();
        }
        self.now = until;
    }

    fn note_started(&mut self) {
        let started: Vec<Ticket> = self.set.started().collect();
        self.running.extend(started.iter().map(|ticket| self.tickets[ticket]));
    }

    fn ticket(&self, id: i64) -> Ticket {
        let found = self.tickets.iter().find(|(_, it)| **it as i64 == id);
        *found.expect("a request that arrived and was not rejected").0
    }

    fn state(&self) -> String {
        let mut running: Vec<usize> = self.running.clone();
        running.sort_unstable();
        let running: Vec<String> = running.iter().map(usize::to_string).collect();
        let queues = self.set.queues().map(|(next_dispatch, waiting)| {
            let ids: Vec<String> = waiting.map(|ticket| self.tickets[&ticket].to_string()).collect();
            if ids.is_empty() { String::new() } else { format!("{}@{next_dispatch}", ids.join(",")) }
        });
        let queues: Vec<String> = queues.collect();
        format!(
            "seats {} running [{}] queues {}",
            self.set.seats_in_use(),
            running.join(" "),
            queues.join("|")
        )
    }
}

fn queuing(config: &Value) -> (Queuing, usize) {
    let number = |key: &str| config[key].as_i64().expect("a number");
    let limit = number("Limit") as usize;
    let queuing = match number("Queues") {
        -1 => Queuing::Exempt,
        0 => Queuing::Reject,
        queues => Queuing::Queue {
            dealer: Dealer::new(queues as usize, number("Hand") as usize).expect("valid sizes"),
            queues: queues as usize,
            length_limit: number("Length") as usize,
        },
    };
    (queuing, limit)
}
