package BrowserTask::Apps;

# A server of pages that are modelled on real applications, for the scenarios
# about forms and logins: t/data/apps/NAME.html, and what happens when they are
# sent. Core modules only; it runs in a child of its own.
#
#   my $apps = BrowserTask::Apps->new($srcdir, sub { %routes });
#     before other programs are started, whose pipes it would hold;
#     %routes: "METHOD /path" => [ status, file or text, \%headers ] or a sub
#     that answers such a list, called with {path, query, form, cookie}. What
#     has no route is the file of its name, or 404.
#   ->url($path)
#   ->posts                      lines "POST /path body", since the start
#   ->stop

use strict;
use warnings;
use File::Temp ();
use IO::Select ();
use IO::Socket::INET ();

sub new {
	my ($class, $srcdir, $routes) = @_;
	my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
		Listen => 64, Proto => 'tcp') // die "apps: $!\n";
	my $log = File::Temp->new;
	pipe my $life, my $keep or die "apps: $!\n";
	my $self = bless { log => $log, keep => $keep,
		address => 'http://127.0.0.1:' . $listen->sockport,
		dir => "$srcdir/t/data/apps", routes => { $routes->() } }, $class;
	my $pid = fork // die "apps: $!\n";

	if (!$pid) {
		close $keep;
		$SIG{PIPE} = 'IGNORE';
		$self->_serve($listen, $life);
		require POSIX;
		POSIX::_exit(0);
	}
	$self->{pid} = $pid;
	return $self;
}

sub url { return "$_[0]{address}$_[1]" }

sub posts {
	my ($self) = @_;
	open my $in, '<', $self->{log}->filename or die "apps: $!\n";
	chomp(my @lines = <$in>);
	return @lines;
}

sub stop {
	my ($self) = @_;
	close $self->{keep};
	waitpid $self->{pid}, 0;
	return $?;
}

sub _serve {
	my ($self, $listen, $life) = @_;
	my $select = IO::Select->new($listen, $life);
	my %got;

	for (;;) {
		for my $fh ($select->can_read) {
			return if $fh == $life;
			if ($fh == $listen) {
				my $peer = $listen->accept or next;
				$select->add($peer);
				next;
			}
			my $n = sysread $fh, $got{$fh}, 65536,
			    length($got{$fh} // '');
			next if $n && !$self->_answer($fh, $got{$fh});
			delete $got{$fh};
			$select->remove($fh);
			close $fh;
		}
	}
}

sub _unescape {
	my ($text) = @_;
	$text =~ tr/+/ /;
	$text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
	return $text;
}

# False while the request is not there.
sub _answer {
	my ($self, $fh, $text) = @_;
	my ($head, $body) = split /\r\n\r\n/, $text, 2;
	return 0 if !defined $body;
	my ($length) = $head =~ /^content-length:\s*(\d+)/mi;
	return 0 if length $body < ($length // 0);

	my ($method, $target) = $head =~ /^(\w+) (\S+)/;
	my ($path, $query) = split /\?/, $target, 2;
	my %req = (path => $path, query => $query // '',
		cookie => $head =~ /^cookie:\s*([^\r\n]*)/mi ? $1 : '',
		form => { map { _unescape($_) } map { (split /=/, $_, 2)[0, 1] }
			grep { /=/ } split /&/, $body });
	if ($method eq 'POST') {
		print { $self->{log} } "POST $path $body\n";
		$self->{log}->flush;
	}
	my $route = $self->{routes}{"$method $path"};
	my ($status, $out, $more) = ref $route eq 'CODE' ? $route->(\%req)
	    : $route ? @$route : (200, substr($path, 1) . '.html');
	my $type = 'text/html; charset=utf-8';
	if (defined $out && $out =~ /^[\w.-]+\.html$/) {
		if (open my $in, '<:raw', "$self->{dir}/$out") {
			local $/;
			$out = <$in>;
		} else {
			($status, $out) = (404, '<title>404 Not Found</title>');
		}
	}
	$more //= {};
	my $lines = join '', map {
		my $name = $_;
		map { "$name: $_\r\n" }
		    ref $more->{$name} ? @{ $more->{$name} } : $more->{$name}
	} sort keys %$more;
	$out //= '';
	utf8::encode($out) if utf8::is_utf8($out);
	syswrite $fh, "HTTP/1.1 $status X\r\nContent-Type: $type\r\n$lines"
	    . 'Content-Length: ' . length($out)
	    . "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n$out";
	return 1;
}

1;
