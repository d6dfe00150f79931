package BrowserTask::Mcp;

# browsertask-mcp driven with raw lines. Core modules only.
#
#   my $m = BrowserTask::Mcp->new(%opt);
#     instance => $i       a harness: its socket, as its user; without one no
#                          service is there
#     as => $i             only its user: the socket is looked for
#     program => FILE      default: that of the build tree
#     args => [ ... ]      more arguments
#     env => { NAME => VALUE or undef }
#   $m->send($text_or_hash)        a line
#   $m->line($s)                   the next line, decoded; undef: none in time
#   $m->answer($id, $s)            waits for that answer; other lines are kept
#                                  in @{ $m->{notes} }
#   $m->ask($method, $params, $s)  sends a request, answers its answer
#   $m->init($revision)            initialize; its result
#   $m->tool($name, \%arguments, %more)  tools/call; its result or the error
#   $m->doc($result)               the JSON text of a tool's result
#   $m->modern($version)           params with the envelope from here on
#   $m->{capabilities}             the client's, of the envelope
#   $m->eof                        closes its standard input
#   $m->wait($s)                   its wait status, undef if it still runs
#   $m->kill($signal)
#   $m->{pid}

use strict;
use warnings;
use BrowserTask::Harness;
use Cwd qw(abs_path);
use IO::Handle;
use JSON::PP ();
use POSIX qw(:sys_wait_h);

my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $builddir = abs_path($ENV{builddir} // '.');
my $meta = 'io.modelcontextprotocol';

sub new {
	my ($class, %opt) = @_;
	my $i = $opt{instance};
	my @args = @{ $opt{args} // [] };
	unshift @args, '-s', $i->client_sock if $i;

	pipe(my $in_r, my $in_w) or die "pipe: $!\n";
	pipe(my $out_r, my $out_w) or die "pipe: $!\n";
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		open(STDIN, '<&', $in_r);
		open(STDOUT, '>&', $out_w);
		close $_ for $in_r, $in_w, $out_r, $out_w;
		delete $ENV{BROWSERTASK_SOCKET};
		$_->become for grep { $_ } $i // $opt{as};
		for my $name (keys %{ $opt{env} // {} }) {
			my $value = $opt{env}{$name};
			defined $value ? $ENV{$name} = $value
			    : delete $ENV{$name};
		}
		exec $opt{program} // "$builddir/mcp/browsertask-mcp", @args
		    or POSIX::_exit(127);
	}
	close $in_r;
	close $out_w;
	$in_w->autoflush(1);
	return bless { pid => $pid, in => $in_w, out => $out_r,
		lines => BrowserTask::Harness::lines($out_r), notes => [],
		answers => {}, id => 100 }, $class;
}

sub send {
	my ($self, $what) = @_;
	$what = $json->encode($what) if ref $what;
	local $SIG{PIPE} = 'IGNORE';
	print { $self->{in} } "$what\n";
}

sub raw { return $_[0]{lines}->next($_[1] // 60) }

sub line {
	my $text = raw(@_) // return undef;
	return $json->decode($text);
}

sub answer {
	my ($self, $id, $seconds) = @_;
	while (!exists $self->{answers}{$id}) {
		my $m = $self->line($seconds) // return undef;
		if (ref $m eq 'HASH' && defined $m->{id} && !$m->{method}) {
			$self->{answers}{ $m->{id} } = $m;
		} else {
			push @{ $self->{notes} }, $m;
		}
	}
	return delete $self->{answers}{$id};
}

sub modern { $_[0]{modern} = $_[1] // '2026-07-28' }

sub request {
	my ($self, $method, $params) = @_;
	my $id = ++$self->{id};
	my %params = %{ $params // {} };
	if ($self->{modern}) {
		$params{_meta} = { %{ $params{_meta} // {} },
			"$meta/protocolVersion" => $self->{modern},
			"$meta/clientCapabilities" =>
			    $self->{capabilities} // {} };
	}
	$self->send({ jsonrpc => '2.0', id => $id, method => $method,
		params => \%params });
	return $id;
}

sub ask {
	my ($self, $method, $params, $seconds) = @_;
	return $self->answer($self->request($method, $params), $seconds);
}

sub init {
	my ($self, $revision) = @_;
	my $a = $self->ask('initialize', { protocolVersion =>
		$revision // '2025-11-25', capabilities => {},
		clientInfo => { name => 'test', version => '1' } });
	$self->send({ jsonrpc => '2.0',
		method => 'notifications/initialized' });
	return $a->{result};
}

sub call {
	my ($self, $name, $arguments, %more) = @_;
	return $self->request('tools/call', { name => $name,
		arguments => $arguments // {}, %more });
}

sub tool {
	my ($self, @call) = @_;
	my $a = $self->answer($self->call(@call), 90);
	return $a->{result} // $a->{error};
}

sub doc {
	my ($self, $result) = @_;
	return eval { $json->decode(do {
		my $text = $result->{content}[0]{text};
		utf8::encode($text);
		$text;
	}) };
}

sub eof { close $_[0]{in} }

sub wait {
	my ($self, $seconds) = @_;
	wait_until($seconds // 60, sub {
		defined $self->{status} || waitpid($self->{pid}, WNOHANG) > 0
		    && defined($self->{status} = $?);
	});
	return $self->{status};
}

sub kill { kill $_[1] // 'KILL', $_[0]{pid} }

1;
