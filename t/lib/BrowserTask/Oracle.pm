package BrowserTask::Oracle;

# A client that remembers what it was told, and finds what of that a service
# that was crashed has lost or done twice. The worker of the instance is
# t/scenario/scripted. Core modules only.
#
#   my $o = BrowserTask::Oracle->new($instance);
#   $o->connect($s)      a new connection, within $s (60) seconds; false if not
#   $o->submit($template, $words, %options)   sends it under a key of its own;
#                        returns that. cancel => 1: is canceled as soon as it
#                        acts; steady => 1: only by ->release, until then it
#                        must go on; close => 1: its session is closed when it
#                        ends
#   $o->works($key)      whether that run's worker has begun a step
#   $o->release($key)    lets a steady run be canceled
#   $o->drain $o->resume $o->restart
#   $o->all_died         its launcher did, too: no run is as it was
#   $o->pump($s)         takes in what comes within $s seconds, and does what is
#                        to be done then; false when the connection is gone
#   $o->live             keys of runs that have not ended, as far as is known
#   $o->check            after a crash, on a new connection: submits again what
#                        has no answer and compares what it knows with what is
#                        there
#   $o->finish($s)       lets all runs end, within $s seconds, then looks at
#                        everything that was ever told
#   $o->faults           what was wrong so far, as texts; forgets them
#   $o->told             how many facts it was told: hash of numbers
#
# Facts are: submissions, events, ends, artifacts, cancels, ends of sessions and
# whether runs may start.

use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use Time::HiRes qw(time);

my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $over = qr/^(?:succeeded|partial_success|failed|canceled)$/;

sub new {
	my ($class, $instance) = @_;
	my $self = bless { i => $instance, runs => {}, open => {}, key => {},
		faults => [],
		told => {}, n => 0, drained => 0 }, $class;
	$self->connect or die "no service\n";
	return $self;
}

sub faults { return splice @{ $_[0]{faults} } }
sub told { return %{ $_[0]{told} } }

sub fault {
	my ($self, $key, $text) = @_;
	my $r = $self->{runs}{$key} // {};
	push @{ $self->{faults} }, "$key " . ($r->{id} // '') . ": $text";
}

# One more thing that is known; false when it is known otherwise.
sub fact {
	my ($self, $kind, $at, $value) = @_;

	$self->{told}{$kind}++ if !defined $$at;
	$$at //= $value;
	return $$at eq $value;
}

sub connect {
	my ($self, $seconds) = @_;

	$self->{waits} = {};
	delete @$_{qw(asked closing)} for values %{ $self->{open} };
	$self->{c} = wait_until($seconds // 60, sub {
		eval { BrowserTask::Client->new($self->{i}->client_sock) };
	});
	return $self->{c};
}

# Sends; what is done with the answer.
sub ask {
	my ($self, $method, $params, $done) = @_;
	my $seq = eval { $self->{c}->send($method, $params) };

	$self->{c}{eof} = 1 if !defined $seq;
	$self->{waits}{$seq} = $done if defined $seq;
}

# Sends and waits; undef when the connection is gone.
sub call {
	my ($self, $method, $params) = @_;
	return eval { $self->{c}->call($method, $params) };
}

# Submitting.

sub send_run {
	my ($self, $key) = @_;
	my $r = $self->{runs}{$key};

	$self->ask('run.submit', $r->{params},
		sub { $self->submitted($key, @_) });
}

sub submit {
	my ($self, $template, $words, %options) = @_;
	my $key = 'key' . ++$self->{n};
	my %own = map { $_ => delete $options{$_} } qw(cancel steady close);

	# Those of which not everything has been looked at since they ended are
	# open, too.
	$self->{runs}{$key} = $self->{open}{$key} = { %own, key => $key,
		template => $template,
		words => [ split ' ', $words ], events => [], artifacts => {},
		params => { templateId => $template,
			inputs => { do => [ split ' ', $words ] },
			options => { idempotencyKey => $key, %options } } };
	$self->send_run($key);
	return $key;
}

sub submitted {
	my ($self, $key, $a) = @_;
	my $r = $self->{runs}{$key};

	if ($a->{errorCode}) {
		$self->fault($key, 'refused: ' . $json->encode($a));
		delete $self->{$_}{$key} for qw(runs open);
		return;
	}
	my $known = defined $r->{id};
	$self->fact('submissions', \$r->{id}, $a->{runId})
	    or $self->fault($key, "the key names $a->{runId} now");
	$self->fault($key, 'was accepted as new again')
	    if $known && !$a->{deduplicated};
	$self->{key}{ $r->{id} } = $key;
	$self->ended($key, $a) if $a->{status} =~ $over;
	$self->follow($key) if !$known;
}

sub works { return $_[0]{runs}{ $_[1] }{works} }

sub release {
	my ($self, $key) = @_;

	$self->{runs}{$key}{cancel} = 1;
	$self->act($key);
}

sub follow {
	my ($self, $key) = @_;
	my $r = $self->{runs}{$key};

	$self->ask('run.follow', { runId => $r->{id},
		afterSeq => scalar @{ $r->{events} } }, sub { });
}

# What is told of a run.

sub ended {
	my ($self, $key, $run) = @_;
	my $r = $self->{runs}{$key};
	my $what = join ' ', map { $_ // '' } @$run{qw(status endedAt attempt)};

	# That a run cannot be canceled any more is told without when it ended.
	!defined $run->{endedAt} || $self->fact('ends', \$r->{end}, $what)
	    or $self->fault($key, "ended \"$r->{end}\", now \"$what\"");
	$r->{status} = $run->{status};
	$self->fault($key, "was canceled, is $run->{status}")
	    if $r->{canceled} && $run->{status} ne 'canceled';
	if (exists $run->{output}) {
		my $all = $json->encode([ @$run{qw(result error output
			warnings artifactIds)} ]);
		$self->fact('results', \$r->{all}, $all)
		    or $self->fault($key, "its result was $r->{all}, is $all");
	}
	$r->{artifacts}{$_} //= undef for @{ $run->{artifactIds} // [] };
	$r->{session} = $run->{sessionId};
}

sub event {
	my ($self, $key, $e) = @_;
	my $r = $self->{runs}{$key};
	my $at = $e->{seq} - 1;

	if ($at > @{ $r->{events} }) {
		$self->fault($key, "event $e->{seq} follows "
		    . @{ $r->{events} });
		return;
	}
	$self->fact('events', \$r->{events}[$at], $json->encode($e))
	    or $self->fault($key, "event was $r->{events}[$at], is "
		. $json->encode($e));
	$r->{artifacts}{ $e->{data}{artifactId} } //= undef
	    if $e->{type} eq 'artifact_created';
	$r->{acts} = 1
	    if $e->{type} eq 'phase_changed' && $e->{data}{phase} eq 'acting';
	$r->{works} = 1 if $e->{type} eq 'step_started';
	$r->{status} //= 'ended'
	    if $e->{type} =~ /^run_(completed|failed|canceled)$/;
}

# What is to be done next about a run.
sub act {
	my ($self, $key) = @_;
	my $r = $self->{runs}{$key};

	return if !defined $r->{id};
	if ($r->{cancel} && $r->{acts} && !$r->{status} && !$r->{asked}++) {
		$self->ask('run.cancel', { runId => $r->{id} }, sub {
			my ($a) = @_;
			$self->ended($key, $a) if !$a->{success};
			return if !$a->{success};
			$self->fact('cancels', \$r->{canceled}, 1);
			$r->{status} = 'canceled';
		});
	}
	if ($r->{close} && $r->{session} && !$r->{closed}
	    && ($r->{status} // '') eq 'succeeded' && !$r->{closing}++) {
		$r->{close_sent} = 1;
		$self->ask('session.close', { sessionId => $r->{session} },
			sub { $self->fact('closes', \$r->{closed}, 1)
			    if $_[0]{success}
			    || $_[0]{errorCode} eq 'SESSION_NOT_FOUND' });
	}
}

sub live {
	my ($self) = @_;
	return grep { !$self->{open}{$_}{status} } keys %{ $self->{open} };
}

sub drain {
	my ($self, $how) = @_;
	my $want = ($how // 'drain') eq 'drain' ? 1 : 0;

	undef $self->{drained};
	$self->ask('service.' . ($want ? 'drain' : 'resume'), {}, sub {
		$self->{told}{drains}++;
		$self->{drained} = $want;
	});
}

sub resume { $_[0]->drain('resume') }

sub restart { $_[0]->ask('service.restart', {}, sub { }) }

sub all_died {
	my ($self) = @_;
	delete $_->{steady} for values %{ $self->{runs} };
}

sub pump {
	my ($self, $seconds) = @_;
	my $c = $self->{c};

	$seconds = 0.001 while $c->receive($seconds);
	for my $seq (keys %{ $c->{answers} }) {
		my $done = delete $self->{waits}{$seq};
		my $a = delete $c->{answers}{$seq};
		$done->($a) if $done;
	}
	while (my $note = shift @{ $c->{notes} }) {
		my ($name, $p) = @$note;
		my $key = $self->{key}{ $p->{runId} } // next;
		$self->event($key, $p->{event})
		    if $name eq 'event' && $p->{event}{seq};
	}
	$self->act($_) for sort keys %{ $self->{open} };
	return !$c->{eof};
}

# Looking.

sub bytes {
	my ($self, $id) = @_;
	my $bytes = '';

	for (;;) {
		my $a = $self->call('artifact.get', { artifactId => $id,
			offset => length $bytes }) // return undef;
		return undef if !defined $a->{data};
		utf8::encode($a->{data});
		$bytes .= $a->{data};
		return $bytes if $a->{complete};
		return undef if !length $a->{data};
	}
}

sub check_artifacts {
	my ($self, $key) = @_;
	my $r = $self->{runs}{$key};

	for my $id (sort keys %{ $r->{artifacts} }) {
		my $bytes = $self->bytes($id);
		if (!defined $bytes) {
			$self->fault($key, "$id is lost") if !$self->{c}{eof};
			next;
		}
		$self->fact('artifacts', \$r->{artifacts}{$id},
			sha256_hex($bytes))
		    or $self->fault($key, "$id has other bytes");
	}
}

# The rules of what may become of a run.
sub judge {
	my ($self, $key, $run) = @_;
	my $r = $self->{runs}{$key};
	my $cause = ($run->{error}{details} // {})->{cause} // '';
	my $acts = grep { $_ eq 'act' } @{ $r->{words} };
	my $crashed = $run->{status} eq 'failed' && !$r->{steady}
	    && ($cause eq 'OUTCOME_UNKNOWN' && $acts
	    || $cause eq 'SUPERVISOR_RESTART'
	    && ($r->{template} ne 'scripted' || $run->{attempt} >= 3));
	my $want = $r->{cancel} ? 'canceled' : 'succeeded';
	my %times;

	$self->fault($key, "is in attempt $run->{attempt}")
	    if $r->{steady} && $run->{attempt} > 1;
	$self->fault($key, "is $run->{status}, " . $json->encode($run))
	    if $run->{status} ne $want && !$crashed;
	for my $text (@{ $r->{events} }) {
		my $e = $json->decode($text);
		$times{ $e->{data}{index} }++ if $e->{type} eq 'progress';
	}
	$self->fault($key, "progress of item $_: $times{$_} times")
	    for grep { $times{$_} != 1 } sort keys %times;
	return if $want ne 'succeeded' || $run->{status} ne $want;
	my $items = grep { /^(?:item|big|long)$/ } @{ $r->{words} };
	my @got = map { $_->{i} } @{ $run->{result}{items} // [] };
	$self->fault($key, "has items @got, not $items")
	    if $r->{template} eq 'scripted' && "@got" ne join ' ',
	    0 .. $items - 1;
	my $own = grep { $_ eq 'art' } @{ $r->{words} };
	my $has = keys %{ $r->{artifacts} };
	# The TaskResult, the items' and its own, one per attempt that made it.
	my $least = 1 + $own + ($items > 0 ? 1 : 0);
	$self->fault($key, "has $has artifacts, not $least")
	    if $has < $least || $has > $least + $own * ($run->{attempt} - 1);
}

sub check_run {
	my ($self, $key) = @_;
	my $r = $self->{runs}{$key};

	my $sent = $self->call('run.submit', { %{ $r->{params} },
		options => { %{ $r->{params}{options} }, mode => 'async' },
		wait => $BrowserTask::Client::false }) // return;
	$self->submitted($key, $sent);
	$r = $self->{runs}{$key} // return;
	my $events = $self->call('run.events', { runId => $r->{id} })
	    // return;
	my $run = $self->call('run.get', { runId => $r->{id},
		$sent->{status} =~ $over ? (include => 'output') : () })
	    // return;
	if ($run->{errorCode} || $events->{errorCode}) {
		$self->fault($key, 'cannot be read: ' . $json->encode($run));
		return;
	}
	$self->fault($key, 'events are lost: ' . @{ $events->{events} }
	    . ' of ' . @{ $r->{events} })
	    if @{ $events->{events} } < @{ $r->{events} };
	$self->event($key, $_) for @{ $events->{events} };
	$self->ended($key, $run) if $run->{status} =~ $over;
	$self->fault($key, "had ended, is $run->{status}")
	    if $r->{status} && $run->{status} !~ $over;
	$self->check_artifacts($key);
	if ($run->{output} && !$self->{c}{eof}) {
		$self->judge($key, $run);
		delete $self->{open}{$key} if !$r->{close} || $r->{closed}
		    || $run->{status} ne 'succeeded';
	}
}

# Sessions that were closed are gone, those that were kept are there.
sub check_sessions {
	my ($self) = @_;
	my $list = $self->call('session.list', { limit => 500 }) // return;
	my %there = map { $_->{sessionId} => 1 } @{ $list->{sessions} };

	for my $r (grep { $_->{close} && $_->{session} }
	    values %{ $self->{runs} }) {
		$self->fault($r->{key}, 'its session is back')
		    if $r->{closed} && $there{ $r->{session} };
		$self->fault($r->{key}, 'its session is lost')
		    if !$r->{close_sent} && $r->{status} eq 'succeeded'
		    && !$there{ $r->{session} };
	}
}

sub check {
	my ($self) = @_;

	my $profile = $self->call('profile.get', {});
	if ($profile && defined $self->{drained}) {
		my $is = $profile->{draining} ? 1 : 0;
		push @{ $self->{faults} }, "drained: $is, not $self->{drained}"
		    if $is != $self->{drained};
	}
	for my $key (sort keys %{ $self->{open} }) {
		my $run = $self->{runs}{$key};
		$run->{crashes}++ if $run->{acts} && !$run->{status};
		$self->check_run($key);
		my $r = $self->{runs}{$key} // next;
		$self->follow($key) if defined $r->{id} && !$r->{status};
	}
	$self->check_sessions;
	$self->resume if !defined $self->{drained} || $self->{drained};
	$self->pump(0);
}

sub finish {
	my ($self, $seconds) = @_;
	my $end = time + $seconds;

	while (grep { !$_->{status} || ($_->{close} && !$_->{closed}
		&& $_->{status} eq 'succeeded') } values %{ $self->{runs} }) {
		$self->pump(0.5) || last;
		# An end that was told as an event only.
		$self->check if !$self->live;
		last if time > $end;
	}
	# All of them once more.
	$self->{open} = { %{ $self->{runs} } };
	$self->check;
	$self->fault($_, 'does not end') for $self->live;
	my $total = $self->call('run.list', { limit => 1 })->{total};
	my $keys = keys %{ $self->{runs} };
	$self->{told}{'runs that went on as they were'} =
	    grep { ($_->{end} // '') =~ / 1$/ && $_->{crashes} }
	    values %{ $self->{runs} };
	push @{ $self->{faults} }, "$total runs of $keys keys"
	    if $total != $keys;
}

1;
