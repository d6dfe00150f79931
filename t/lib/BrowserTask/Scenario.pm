package BrowserTask::Scenario;

# What the scenarios share that drive the whole system: the demo site, runs to
# their end, the processes of one run. Core modules only.
#
#   my $site = BrowserTask::Scenario::Site->new(%opt);
#     directory => DIR            pages, default: the demo's
#     delay_ms => N              each page takes so long
#     ->url($path)                the address of a page
#     ->fetched                   path => number of requests, since ->reset
#     ->{pid}                     of the server
#   batch($c, \@urls, \%options, %inputs)
#                                submits batch_extract_pages, answers as it does
#   get($c, $run, @include)      the Run object
#   ended($c, $run, $s)          waits up to $s (120) seconds until the run is
#                                terminal; the Run object, undef if too late
#   event($c, $run, $s, sub)     waits until the run's log has an event that
#                                the sub accepts; the event
#   done($c, $run, $n)           waits until $n items are done
#   items($r)                    url => item of a Run object's result
#   artifact($c, $id, $limit)    its bytes, chunk by chunk
#   artifact_of($r, $kind)       the TaskResult's row of that kind; $r with
#                                output included
#   as_uid($uid, sub)            its value, run as that user in group 65534
#   client_of($i, $uid, @how)        a client of that user, of a service whose
#                                clientGroup is 65534
#   parts($i, $run)              living processes of a run: hash of lists of
#                                pids: worker browser cell renderer all
#   gone($i, @pids)             whether none of them is there, not even as a
#                                zombie
#   listening($pid)             listening TCP sockets of the tree of $pid, as
#                                text; in a list also how many descriptors
#                                were looked at
#   task($c, $template, \%inputs, $s)
#                                submits it, waits up to $s (120) seconds; the
#                                Run object with output, or the refusal
#   misfit($schema, $value)      what of $value does not fit the JSON Schema,
#                                as text; '' if it fits. Knows the keywords of
#                                templates' outputs
#   result_fits($c, $r)          whether a run's result fits its template's
#                                outputs: a test
#   error_is($error, $code, $cause, $name)
#   timed(sub)                   (seconds it took, its value)
#   quantile($q, @values)

use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Exporter qw(import);
use JSON::PP ();
use Test::More ();
use Time::HiRes qw(time);

our @EXPORT = qw(client batch get ended event done items artifact artifact_of
    as_uid client_of parts gone listening task misfit result_fits error_is timed quantile);

sub client { return BrowserTask::Client->new($_[0]->client_sock) }

# The kernel tells a service who connected.
use constant USERS => 65534;

sub as_uid {
	my ($uid, $sub) = @_;
	my ($euid, $egid) = ($>, $));

	$) = USERS . ' ' . USERS;
	$> = $uid;
	my $value = eval { $sub->() };
	my $error = $@;
	$> = $euid;
	$) = $egid;
	die $error if $error;
	return $value;
}

sub client_of {
	my ($i, $uid, @how) = @_;

	return as_uid($uid, sub {
		BrowserTask::Client->new($i->client_sock, @how) });
}

sub batch {
	my ($c, $urls, $options, %inputs) = @_;
	return $c->run('batch_extract_pages', { urls => $urls, %inputs },
		$options);
}

sub get {
	my ($c, $run, @include) = @_;
	return $c->call('run.get', { runId => $run,
		@include ? (include => join ',', @include) : () });
}

# Calls $see with each new event until it says that this was it.
sub watch {
	my ($c, $run, $seconds, $see) = @_;
	my $end = time + $seconds;
	my $after = 0;

	while ((my $rest = $end - time) > 0) {
		my $seq = $c->send('run.events', { runId => $run,
			afterSeq => $after,
			timeoutMs => int(1 + 1000 * ($rest < 30 ? $rest : 30)),
		});
		my $answer = $c->answer($seq, $rest + 60);
		return undef if $answer->{errorCode};
		for my $e (@{ $answer->{events} }) {
			return $e if $see->($e);
		}
		$after = $answer->{lastSeq};
		return undef
		    if $answer->{status} !~ /^(queued|running)$/
		    && !@{ $answer->{events} };
	}
	return undef;
}

sub event { return watch(@_) }

sub ended {
	my ($c, $run, $seconds) = @_;
	my $last = watch($c, $run, $seconds // 120,
		sub { $_[0]{type} =~ /^run_(completed|failed|canceled)$/ });
	return $last && get($c, $run, 'output');
}

sub done {
	my ($c, $run, $n) = @_;
	my %seen;
	return !$n || watch($c, $run, 120, sub {
		my $index = $_[0]{data}{index};
		$seen{$index} = 1 if defined $index;
		return keys %seen >= $n;
	});
}

sub items {
	my ($r) = @_;
	return map { $_->{url} => $_ } @{ $r->{result}{items} // [] };
}

sub artifact {
	my ($c, $id, $limit) = @_;
	my $bytes = '';

	for (;;) {
		my $a = $c->call('artifact.get', { artifactId => $id,
			offset => length $bytes,
			$limit ? (limit => $limit) : () });
		return undef if !defined $a->{data};
		my $data = $a->{data};
		utf8::encode($data);
		return undef if length $data != $a->{length};
		$bytes .= $data;
		return $bytes if $a->{complete};
	}
}

sub artifact_of {
	my ($r, $kind) = @_;
	my $rows = $r->{output}{artifacts}{$kind} // [];
	return $rows->[0];
}

# The worker names its run in its title; the rest is found from its cell.
sub parts {
	my ($i, $run) = @_;
	my @tree = grep { $_->{state} ne 'Z' } tree($i->{pid});
	my ($worker) = grep { $_->{cmd} =~ /^workerd.*\Q$run\E/ } @tree;
	my %parts = map { $_ => [] } qw(worker browser cell renderer all);

	return %parts if !$worker;
	my %in = ($worker->{ppid} => 1);
	for my $p (@tree) {
		next if !$in{ $p->{pid} } && !$in{ $p->{ppid} };
		$in{ $p->{pid} } = 1;
		my $kind = $p->{pid} == $worker->{ppid} ? 'cell'
		    : $p->{pid} == $worker->{pid} ? 'worker'
		    : $p->{cmd} =~ /--type=renderer/ ? 'renderer'
		    : $p->{ppid} == $worker->{ppid}
		    && $p->{cmd} =~ /--remote-debugging/ ? 'browser' : 'other';
		push @{ $parts{$kind} }, $p->{pid};
		push @{ $parts{all} }, $p->{pid};
	}
	return %parts;
}

sub gone {
	my ($i, @pids) = @_;
	my %there = map { $_->{pid} => 1 } tree($i->{pid});
	return !grep { $there{$_} } @pids;
}

sub listening { return BrowserTask::Harness::listening(@_) }

sub task {
	my ($c, $template, $inputs, $seconds) = @_;
	my $s = $c->run($template, $inputs, { mode => 'async' });
	return $s if $s->{errorCode};
	return ended($c, $s->{runId}, $seconds);
}

my %is_type = (
	object => sub { ref $_[0] eq 'HASH' },
	array => sub { ref $_[0] eq 'ARRAY' },
	boolean => sub { JSON::PP::is_bool($_[0]) },
	null => sub { !defined $_[0] },
	string => sub { defined $_[0] && !ref $_[0] },
	integer => sub { !ref $_[0] && ($_[0] // '') =~ /^-?\d+$/ },
	number => sub { !ref $_[0] && ($_[0] // '') =~ /^-?[\d.]+$/ },
);

sub misfit {
	my ($schema, $value, $at) = @_;
	my @types = map { ref ? @$_ : $_ } $schema->{type} // ();

	$at //= '';
	return "$at: no " . join ' or ', @types
	    if @types && !grep { $is_type{$_}->($value) } @types;
	return "$at: none of its values"
	    if $schema->{enum} && !grep { $_ eq $value } @{ $schema->{enum} };
	if (ref $value eq 'HASH') {
		for my $key (@{ $schema->{required} // [] }) {
			return "$at: lacks $key" if !exists $value->{$key};
		}
		my $known = $schema->{properties} // {};
		for my $key (sort keys %$value) {
			my $below = $known->{$key};
			return "$at/$key: is not in the schema"
			    if !$below && %$known;
			my $why = $below ? misfit($below, $value->{$key},
				"$at/$key") : '';
			return $why if $why;
		}
	} elsif (ref $value eq 'ARRAY' && $schema->{items}) {
		for my $i (0 .. $#$value) {
			my $why = misfit($schema->{items}, $value->[$i],
				"$at/$i");
			return $why if $why;
		}
	}
	return '';
}

sub result_fits {
	my ($c, $r) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($t) = grep { $_->{id} eq $r->{templateId} }
	    @{ $c->call('template.list', {})->{templates} };
	Test::More::is(misfit($t->{outputs}, $r->{result}), '',
		"$r->{templateId}: the result fits its schema");
}

sub error_is {
	my ($e, $code, $cause, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	Test::More::is_deeply(
		[ $e->{errorCode}, $e->{details}{cause} ], [ $code, $cause ],
		$name) or Test::More::diag(Test::More::explain($e));
}

sub timed {
	my ($sub) = @_;
	my $was = time;
	my $value = $sub->();
	return (time - $was, $value);
}

sub quantile {
	my ($q, @values) = @_;
	@values = sort { $a <=> $b } @values;
	return $values[ int($q * $#values + 0.5) ];
}

package BrowserTask::Scenario::Site;

use HTTP::Tiny;
use IPC::Open2 qw(open2);

my $json = JSON::PP->new->utf8;

sub new {
	my ($class, %opt) = @_;
	my $builddir = $ENV{builddir} // '.';
	my $pid = open2(my $out, my $in, "$builddir/site/demosite",
	    '--exit-on-eof',
	    $opt{delay_ms} ? ('--delay-ms', $opt{delay_ms}) : (),
	    $opt{directory} ? ('-d', $opt{directory}) : ());
	my $address = <$out> // die "demosite did not start\n";
	$address =~ s{/?\s*$}{};
	my ($port) = $address =~ /:(\d+)$/;
	return bless { pid => $pid, in => $in, out => $out,
		address => $address, port => $port,
		http => HTTP::Tiny->new }, $class;
}

sub url { return "$_[0]{address}$_[1]" }

sub reset { $_[0]{http}->post("$_[0]{address}/_log/reset") }

sub fetched {
	my ($self) = @_;
	my $log = $self->{http}->get("$self->{address}/_log");
	my %count;
	$count{ $_->{path} } += $_->{count}
	    for @{ $json->decode($log->{content}) };
	return %count;
}

sub stop {
	my ($self) = @_;
	close $self->{in};
	waitpid($self->{pid}, 0);
	return $?;
}

1;
